package catalogue

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/servers/docker"
)

// expand replaces placeholders by addresses: {addr} is where c's port is published, {ip:NAME}
// the address of a container among the containers, which the daemon's host can reach too.
func (d *containers) expand(ctx context.Context, text string, c *Container) (string, error) {
	var failed error
	out := placeholder.ReplaceAllStringFunc(text, func(p string) string {
		var args []string
		node, isIP := strings.CutPrefix(p[1:len(p)-1], "ip:")
		switch {
		case isIP && d.ids[node] != "":
			args = []string{"inspect", "--format", `{{(index .NetworkSettings.Networks "` + d.cluster() + `").IPAddress}}`, d.ids[node]}
		case p == "{addr}" && c != nil:
			args = []string{"port", d.ids[c.Name], fmt.Sprintf("%d/tcp", c.Port)}
		default:
			return p
		}
		addr, err := docker.Do(ctx, docker.Answer, nil, args...)
		addr, _, _ = strings.Cut(addr, "\n")
		if err == nil && !address.MatchString(addr) {
			err = errors.Errorf("docker %s: expected an address, not %q", args[0], addr)
		}
		if err != nil {
			failed = err
		}
		return addr
	})
	return out, failed
}

// address is an IP address, with a port or without.
var address = regexp.MustCompile(`^[0-9a-fA-F.:\[\]]+$`)

// disturb disturbs the containers as the scenario says, and finally undoes it.
func (d *containers) disturb(ctx context.Context) {
	var all sync.WaitGroup
	for _, e := range d.target.Disturb {
		all.Go(func() {
			if !pass(ctx, time.Duration(e.At)) {
				return
			}
			d.tell(e.Action, e.Node, d.act(ctx, e.Action, e.Node))
			pass(ctx, time.Duration(e.For))
			// Undo the disturbance even when the run has ended.
			d.tell("end of "+e.Action, e.Node, d.undo(context.WithoutCancel(ctx), e.Action, e.Node))
		})
	}
	all.Wait()
}

func (d *containers) act(ctx context.Context, action, node string) error {
	args := []string{"pause", d.ids[node]}
	if action == Disconnect {
		args = []string{"network", "disconnect", d.cluster(), d.ids[node]}
	}
	_, err := docker.Do(ctx, docker.Answer, nil, args...)
	return err
}

func (d *containers) undo(ctx context.Context, action, node string) error {
	if action == Disconnect {
		return d.connect(ctx, node)
	}
	_, err := docker.Do(ctx, docker.Answer, nil, "unpause", d.ids[node])
	return err
}

func (d *containers) tell(what, node string, err error) {
	if err != nil {
		d.note(fmt.Sprintf("%s of %s: %v", what, node, err))
		return
	}
	d.note(what + ": " + node)
}

// pass waits until t, and reports whether ctx has not ended before.
func pass(ctx context.Context, t time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(t):
		return true
	}
}
