package drivers

import (
	"strings"

	"github.com/pkg/errors"
)

// Remedies are what a user can do about errors of TLS, in the words of a DSN.
type Remedies struct {
	// Without is for a server that has no TLS. Unchecked is for a server whose certificate does not fit.
	Without, Unchecked string
}

// noTLS are texts of errors of clients that wanted TLS.
var noTLS = []string{"server refused TLS connection", "does not support TLS", "first record does not look like a TLS handshake"}

// Explain explains an error of TLS, and returns nil for any other error. Several clients keep only the text of an error.
func (r Remedies) Explain(err error) error {
	if err == nil {
		return nil
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	if at := strings.Index(text, "x509: "); at >= 0 {
		why, _, _ := strings.Cut(text[at:], `"`)
		return errors.Errorf("its certificate does not fit: %s; connect by a name that is in the certificate, and %s", strings.TrimRight(why, ")] "), r.Unchecked)
	}
	for _, t := range noTLS {
		if strings.Contains(text, t) {
			return errors.Errorf("the server has no TLS; %s", r.Without)
		}
	}
	return nil
}
