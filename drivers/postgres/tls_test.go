package postgres

import (
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/isohound/isohound/drivers"
)

// TestTLSErrors: a server without TLS, and a certificate that does not fit, are told with the remedy. Neither says that the
// server is of another kind.
func TestTLSErrors(t *testing.T) {
	s := httptest.NewTLSServer(nil) // for its certificate
	defer s.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if _, err := io.ReadFull(c, make([]byte, 8)); err == nil { // SSLRequest
					c.Write([]byte("S"))
					_ = tls.Server(c, s.TLS).Handshake()
				}
			}()
		}
	}()
	for dsn, want := range map[string]string{
		server.DSN() + "?sslmode=require":                                "the server has no TLS; " + remedies.Without,
		"postgres://me@" + l.Addr().String() + "/db?sslmode=verify-full": "its certificate does not fit: x509: ",
		"postgres://me@" + l.Addr().String() + "/db?sslmode=verify-ca":   remedies.Unchecked,
	} {
		_, err := driver{}.Open(ctx, drivers.Config{DSN: dsn, Isolation: "serializable"})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "is this a") {
			t.Errorf("%s: %v", dsn, err)
		}
	}
}
