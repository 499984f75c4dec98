package drivertest

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/drivers"
)

// Stranger opens a database at an address that accepts connections and says nothing. The error must end with want, in which ADDR
// stands for the address.
func Stranger(t *testing.T, d drivers.Driver, scheme, want string) {
	t.Helper()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	addr := silent.Addr().String()
	want = strings.ReplaceAll(want, "ADDR", addr)
	if _, err = d.Open(ctx, drivers.Config{DSN: scheme + addr}); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, not %s", err, want)
	}
}
