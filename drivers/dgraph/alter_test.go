package dgraph

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/dgraph-io/dgo/v250/protos/api"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// refusing is a server that refuses to alter its schema with these texts, one after the other.
type refusing struct {
	api.UnimplementedDgraphServer
	texts []string
	asked atomic.Int64
}

func (r *refusing) Alter(context.Context, *api.Operation) (*api.Payload, error) {
	if n := int(r.asked.Add(1)); n <= len(r.texts) {
		return nil, status.Error(codes.Unknown, r.texts[n-1])
	}
	return &api.Payload{}, nil
}

// TestAlter: a server that lacks a connection inside its cluster, or that aborts transactions, is asked again. One that refuses is not.
func TestAlter(t *testing.T) {
	lost, open := "cannot retrieve predicate information: No connection exists", "Pending transactions found. Please retry operation"
	for _, tc := range []struct {
		texts []string
		asked int64
		fails bool
	}{
		{nil, 1, false},
		{[]string{lost, open, lost}, 4, false},
		{[]string{lost, "predicate x is reserved", lost}, 2, true},
	} {
		r := &refusing{texts: tc.texts}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := grpc.NewServer()
		api.RegisterDgraphServer(s, r)
		go s.Serve(l)
		to, err := parseDSN("dgraph://" + l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c, err := to.connect(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := alter(ctx, c, &api.Operation{Schema: "x: int ."}); (err != nil) != tc.fails || r.asked.Load() != tc.asked {
			t.Errorf("%q: asked %d times, %v", tc.texts, r.asked.Load(), err)
		}
		c.close()
		s.Stop()
	}
}
