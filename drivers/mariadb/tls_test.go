package mariadb

import (
	"testing"

	"github.com/isohound/isohound/drivers/drivertest"
)

// TestNoTLS: a server without TLS is told with the remedy.
func TestNoTLS(t *testing.T) {
	drivertest.Plain(t, driver{}, server.DSN()+"?tls=true", remedies.Without)
}
