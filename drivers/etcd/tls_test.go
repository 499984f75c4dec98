package etcd

import (
	"testing"

	"github.com/isohound/isohound/drivers/drivertest"
)

// TestTLSErrors: a server without TLS, and a certificate that does not fit, are told with the remedy.
func TestTLSErrors(t *testing.T) {
	drivertest.Untrusted(t, driver{}, "https://ADDR", remedies.Unchecked)
	drivertest.Plain(t, driver{}, "https://ADDR", remedies.Without)
}
