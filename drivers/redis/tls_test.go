package redis

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
)

// TestTLSWithPlainServer: a Redis server without TLS takes a handshake for the beginning of a line, and waits. It is told soon.
func TestTLSWithPlainServer(t *testing.T) {
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
				lines := bufio.NewReader(c)
				for {
					line, err := lines.ReadString('\n')
					if err != nil {
						return
					}
					if line == "PING\r\n" {
						io.WriteString(c, "-NOAUTH Authentication required.\r\n")
					} // the noise of a handshake may have a line, too
				}
			}()
		}
	}()
	begun := time.Now()
	_, err = driver{}.Open(context.Background(), drivers.Config{DSN: "rediss://me:secret@" + l.Addr().String(), Isolation: watch})
	if took := time.Since(begun); err == nil || !strings.Contains(err.Error(), "the server has no TLS; "+remedies.Without) || took > setupTimeout/2 {
		t.Errorf("%v after %s", err, took)
	}
}

// TestTLSErrors: a server without TLS, and a certificate that does not fit, are told with the remedy.
func TestTLSErrors(t *testing.T) {
	drivertest.Untrusted(t, driver{}, "rediss://ADDR", remedies.Unchecked)
	drivertest.Plain(t, driver{}, "rediss://ADDR", remedies.Without)
}
