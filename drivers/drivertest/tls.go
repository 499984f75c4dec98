package drivertest

import (
	"context"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/isohound/isohound/drivers"
)

// Untrusted tests that a driver tells that the certificate of a server does not fit, with a remedy. dsn has ADDR for the
// address of the server.
func Untrusted(t *testing.T, d drivers.Driver, dsn, remedy string) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = true // for gRPC
	s.StartTLS()
	defer s.Close()
	explained(t, d, strings.Replace(dsn, "ADDR", s.Listener.Addr().String(), 1), "its certificate does not fit: x509: ", remedy)
}

// Plain tests that a driver tells that a server has no TLS, with a remedy. dsn has ADDR for the address of the server, which
// answers as web servers do, unless it names another one.
func Plain(t *testing.T, d drivers.Driver, dsn, remedy string) {
	t.Helper()
	s := httptest.NewServer(nil)
	defer s.Close()
	explained(t, d, strings.Replace(dsn, "ADDR", s.Listener.Addr().String(), 1), "the server has no TLS; ", remedy)
}

func explained(t *testing.T, d drivers.Driver, dsn, want, remedy string) {
	t.Helper()
	db, err := d.Open(context.Background(), drivers.Config{DSN: dsn, Isolation: d.Info().Isolations[0].Name})
	if err == nil {
		db.Close(context.Background())
	}
	if err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), remedy) || strings.Contains(err.Error(), "is this a") {
		t.Errorf("%s: %v", dsn, err)
	}
}
