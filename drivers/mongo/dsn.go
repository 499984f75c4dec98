package mongo

import (
	"regexp"

	"github.com/pkg/errors"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"github.com/isohound/isohound/drivers"
)

// parseDSN reads a connection string. Its errors repeat nothing of a string that holds a
// password.
func parseDSN(dsn string) (*options.ClientOptions, error) {
	opts := options.Client().ApplyURI(dsn)
	if err := opts.Validate(); err != nil {
		masked := mask(dsn)
		if masked == dsn {
			return nil, err
		}
		if err := options.Client().ApplyURI(masked).Validate(); err != nil {
			return nil, err
		}
		return nil, errors.New("user or password cannot be read; characters other than letters and digits must be percent-encoded")
	}
	// Transactions read from the primary only.
	opts.SetReadPreference(readpref.Primary())
	// The runner, not the client, handles the answer "overloaded": the client must not wait and
	// retry.
	if opts.MaxAdaptiveRetries == nil {
		opts.SetMaxAdaptiveRetries(0)
	}
	// With "poll", a session needs only one connection besides its own.
	if opts.ServerMonitoringMode == nil {
		opts.SetServerMonitoringMode(options.ServerMonitoringModePoll)
	}
	if opts.AppName == nil {
		opts.SetAppName("isohound")
	}
	return opts, nil
}

// Package url cannot parse a connection string, which may name several hosts.
var (
	userPassword = regexp.MustCompile(`^([a-z+]+://[^:@/]*:).*@`)
	secretOption = regexp.MustCompile(`(?i)([?&][a-z]*(?:password|properties)=)[^&]*`)
)

func mask(dsn string) string {
	dsn = userPassword.ReplaceAllString(dsn, "${1}"+drivers.Masked+"@")
	return secretOption.ReplaceAllString(dsn, "${1}"+drivers.Masked)
}

// MaskDSN implements drivers.Masker.
func (driver) MaskDSN(dsn string) string { return mask(dsn) }
