package dgraph

import (
	"testing"

	"github.com/isohound/isohound/drivers/drivertest"
)

// TestTLSErrors: a server without TLS, and a certificate that does not fit, are told with the remedy.
func TestTLSErrors(t *testing.T) {
	drivertest.Untrusted(t, driver{}, "dgraph://ADDR?sslmode=verify-ca", remedies.Unchecked)
	drivertest.Plain(t, driver{}, "dgraph://ADDR?sslmode=verify-ca", remedies.Without)
}
