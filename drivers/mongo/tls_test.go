package mongo

import (
	"testing"

	"github.com/isohound/isohound/drivers/drivertest"
)

// TestTLSErrors: a server without TLS, and a certificate that does not fit, are told with the remedy.
func TestTLSErrors(t *testing.T) {
	drivertest.Untrusted(t, driver{}, "mongodb://ADDR/?tls=true", remedies.Unchecked)
	drivertest.Plain(t, driver{}, "mongodb://ADDR/?tls=true", remedies.Without)
}
