package etcd

import (
	"context"

	"github.com/pkg/errors"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/isohound/isohound/drivers"
)

// refusals are answers that the server gives instead of executing a request, whether it reads or
// writes. After a fatal one a retry is useless.
var refusals = map[error]struct {
	class drivers.Class
	cause string
}{
	rpctypes.ErrTooManyOps:       {drivers.Fatal, "too many operations"},
	rpctypes.ErrRequestTooLarge:  {drivers.Fatal, "request too large"},
	rpctypes.ErrNoSpace:          {drivers.Fatal, "no space"},
	rpctypes.ErrEmptyKey:         {drivers.Fatal, "empty key"},
	rpctypes.ErrPermissionDenied: {drivers.Fatal, "permission denied"},
	rpctypes.ErrAuthFailed:       {drivers.Fatal, "authentication failed"},
	rpctypes.ErrUserEmpty:        {drivers.Fatal, "no user given"},
	rpctypes.ErrTooManyRequests:  {drivers.Aborted, "too many requests"},
	rpctypes.ErrCompacted:        {drivers.Aborted, "revision compacted"},
	rpctypes.ErrFutureRev:        {drivers.Aborted, "revision not there yet"},
}

// statementError classifies an error of any call but a commit: no write was sent.
func statementError(err error) error { return classify(err, drivers.Aborted) }

// commitError classifies an error of a request that may have written. The client does not repeat
// such a request once it may have reached a server, so a refusal is the answer to the only
// attempt.
func commitError(err error) error { return classify(err, drivers.OutcomeUnknown) }

func classify(err error, otherwise drivers.Class) error {
	if err == nil {
		return nil
	}
	var classified *drivers.Error
	if errors.As(err, &classified) {
		return err
	}
	for refusal, r := range refusals {
		if errors.Is(rpctypes.Error(err), refusal) {
			return &drivers.Error{Class: r.class, Cause: r.cause, Broken: r.class == drivers.Fatal, Err: err}
		}
	}
	return &drivers.Error{Class: otherwise, Cause: cause(err), Broken: true, Err: err}
}

// cause names an error other than a refusal: the connection was lost, the server is shutting
// down or has no leader, or the time ran out.
func cause(err error) string {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return "call timed out"
	}
	var ee rpctypes.EtcdError
	if errors.As(rpctypes.Error(err), &ee) {
		return ee.Error()
	}
	switch s, ok := status.FromError(err); {
	case !ok:
		return "client error"
	case s.Code() == codes.DeadlineExceeded || s.Code() == codes.Canceled:
		return "call timed out"
	case s.Code() == codes.Unavailable:
		return "connection lost"
	default:
		return s.Code().String()
	}
}
