package redis

import (
	"testing"

	"github.com/isohound/isohound/drivers/drivertest"
)

// TestTLSErrors: a server without TLS, and a certificate that does not fit, are told with the remedy.
func TestTLSErrors(t *testing.T) {
	drivertest.Untrusted(t, driver{}, "rediss://ADDR", remedies.Unchecked)
	drivertest.Plain(t, driver{}, "rediss://ADDR", remedies.Without)
}
