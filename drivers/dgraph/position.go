package dgraph

import (
	"context"

	"github.com/dgraph-io/dgo/v250/protos/api"
	"google.golang.org/grpc"

	"github.com/isohound/isohound/drivers"
)

// Where Dgraph places transactions. Zero gives out all timestamps. A transaction gets one when it takes its snapshot,
// which has all that committed at an earlier one, and one that changed something gets another one at its commit.

// Positions implements drivers.Positioner.
func (*db) Positions() string { return "commit timestamps" }

// Position implements drivers.Positioned. A transaction that sent no request has no place.
func (x *tx) Position() drivers.Position {
	return drivers.Position{Commit: int64(x.commitTs), Snapshot: int64(x.startTs), Snapped: x.startTs != 0}
}

// commitKey is the key of a context for a *uint64 that takes the commit timestamp.
type commitKey struct{}

// noteCommit keeps the commit timestamp, which is in the answer to a commit, but not in what dgo returns.
func noteCommit(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, cc, opts...)
	if at, wanted := ctx.Value(commitKey{}).(*uint64); wanted && err == nil {
		if answer, ok := reply.(*api.TxnContext); ok && !answer.GetAborted() {
			*at = answer.GetCommitTs()
		}
	}
	return err
}
