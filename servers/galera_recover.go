package servers

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/pkg/errors"
	"golang.org/x/sync/errgroup"
)

// KillAll kills all nodes at about the same time, like a power failure.
func (g *Galera) KillAll() {
	var all sync.WaitGroup
	for _, node := range g.nodes {
		all.Go(node.Kill)
	}
	all.Wait()
}

// Recover starts the cluster again after KillAll, as its documentation says: from the node with the latest position
// in the order of write sets. The others join it. What no log has is lost.
func (g *Galera) Recover() error {
	ctx := context.Background()
	latest, at := 0, int64(-2)
	for i, node := range g.nodes {
		seqno, err := node.position(ctx, g.args[i])
		if err != nil {
			return errors.WithMessagef(err, "node %d", i+1)
		}
		if seqno > at {
			latest, at = i, seqno
		}
	}
	first := g.nodes[latest]
	if err := first.mayFound(); err != nil {
		return err
	}
	if err := first.start(ctx, first.synced(1), first.bin, append(g.args[latest], "--wsrep-new-cluster")...); err != nil {
		return errors.WithMessagef(err, "node %d", latest+1)
	}
	for i, node := range g.nodes {
		if i != latest {
			if err := node.launch(node.bin, g.args[i]...); err != nil {
				return errors.WithMessagef(err, "node %d", i+1)
			}
		}
	}
	all, ctx := errgroup.WithContext(ctx)
	for i, node := range g.nodes {
		all.Go(func() error {
			return errors.WithMessagef(node.await(ctx, node.synced(len(g.nodes))), "node %d", i+1)
		})
	}
	return all.Wait()
}

// recovered is the line in which a server says its position: the id of the cluster and a number. -1 stands for none.
var recovered = regexp.MustCompile(`WSREP: Recovered position: \S+:(-?\d+)`)

// position recovers the data of a node that does not run, and returns the number of its last write set.
func (s *MariaDB) position(ctx context.Context, args []string) (int64, error) {
	out, err := s.command(ctx, s.bin, append(args, "--wsrep-recover", "--disable-log-error")...).CombinedOutput()
	if err != nil {
		return 0, errors.Wrapf(err, "%s --wsrep-recover: %s", filepath.Base(s.bin), tail(string(out)))
	}
	m := recovered.FindSubmatch(out)
	if m == nil {
		return 0, errors.Errorf("%s --wsrep-recover says no position: %s", filepath.Base(s.bin), tail(string(out)))
	}
	return strconv.ParseInt(string(m[1]), 10, 64)
}

// mayFound lets a node that crashed found the cluster again.
func (s *MariaDB) mayFound() error {
	path := filepath.Join(s.data(), "grastate.dat")
	state, err := os.ReadFile(path)
	if err != nil {
		return errors.WithStack(err)
	}
	return errors.WithStack(os.WriteFile(path, []byte(strings.Replace(string(state), "safe_to_bootstrap: 0", "safe_to_bootstrap: 1", 1)), 0o640))
}
