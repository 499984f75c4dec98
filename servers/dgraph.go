package servers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"syscall"

	"github.com/pkg/errors"
)

// Dgraph is a private cluster: one zero, and several alphas. The alphas serve separate groups,
// or all the same group.
type Dgraph struct {
	zero   *process
	alphas []*process
	bin    string
	old    bool // 1.x, which has other flags
}

// FindDgraph returns the program of a version, such as "1.1.1", or an error that says where to
// get it. A program called dgraph may be of any version.
func FindDgraph(version string) (string, error) {
	name := "dgraph-" + version
	path, err := exec.LookPath(name)
	return path, errors.Wrapf(err, "%s is missing; ./run.sh dgraph builds it into bin/, which must be on PATH", name)
}

// StartDgraph starts a cluster of n alphas. replicas is the number of replicas of a group.
func StartDgraph(version string, n, replicas int, opts ...Option) (*Dgraph, error) {
	c, err := configure(opts)
	if err != nil {
		return nil, err
	}
	bin, err := FindDgraph(version)
	if err != nil {
		return nil, err
	}
	s := &Dgraph{bin: bin, old: strings.HasPrefix(version, "1.")}
	err = s.startZero(c.ctx, replicas)
	for range n {
		if err == nil {
			err = s.addAlpha(c.ctx)
		}
	}
	for i := range s.alphas {
		if err == nil {
			err = s.alphas[i].await(c.ctx, s.asks(i))
		}
	}
	if err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// asks queries an alpha for the whole schema, which involves all groups. The health check is not
// enough: alphas report that they are healthy before they know each other.
func (s *Dgraph) asks(i int) func(context.Context) error {
	return func(context.Context) error {
		mime := "application/dql"
		if s.old {
			mime = "application/graphql+-"
		}
		resp, err := http.Post(fmt.Sprintf("http://localhost:%d/query", s.alphas[i].port+alphaHTTP), mime, strings.NewReader("schema {}"))
		body, err := read(resp, err)
		if err == nil && bytes.Contains(body, []byte(`"errors"`)) {
			err = errors.New(tail(string(body)))
		}
		return err
	}
}

// Dgraph's ports are these plus an offset, which is stored as the port of the process.
const (
	zeroGRPC, zeroHTTP                = 5080, 6080
	alphaInside, alphaHTTP, alphaGRPC = 7080, 8080, 9080
)

func (s *Dgraph) startZero(ctx context.Context, replicas int) (err error) {
	if s.zero, err = newProcess("dgraph-zero", "", syscall.SIGKILL, nil); err != nil {
		return err
	}
	if s.zero.port, err = freeOffset(zeroGRPC, zeroHTTP); err != nil {
		return err
	}
	args := []string{"zero", "--bindall=false", "--logtostderr", fmt.Sprintf("--port_offset=%d", s.zero.port), fmt.Sprintf("--replicas=%d", replicas)}
	if s.old {
		args = append(args, "--telemetry=false", s.my(s.zero.port+zeroGRPC))
	} else {
		args = append(args, "--telemetry=reports=false")
	}
	return s.zero.start(ctx, s.answers(s.zero.port+zeroHTTP, "/state"), s.bin, args...)
}

// my sets the address at which others in the cluster find a process. Newer versions find it
// themselves.
func (s *Dgraph) my(port int) string { return fmt.Sprintf("--my=localhost:%d", port) }

func (s *Dgraph) addAlpha(ctx context.Context) error {
	p, err := newProcess("dgraph-alpha", "", syscall.SIGKILL, nil)
	if err != nil {
		return err
	}
	s.alphas = append(s.alphas, p)
	if p.port, err = freeOffset(alphaInside, alphaHTTP, alphaGRPC); err != nil {
		return err
	}
	args := []string{"alpha", "--bindall=false", "--logtostderr", fmt.Sprintf("--port_offset=%d", p.port), fmt.Sprintf("--zero=localhost:%d", s.zero.port+zeroGRPC)}
	if s.old {
		args = append(args, "--lru_mb=1024", s.my(p.port+alphaInside))
	} else {
		args = append(args, "--telemetry=reports=false")
	}
	return p.start(ctx, s.answers(p.port+alphaHTTP, "/health"), s.bin, args...)
}

// Logs returns the ends of all logs.
func (s *Dgraph) Logs() string {
	var b strings.Builder
	for _, p := range append([]*process{s.zero}, s.alphas...) {
		if p != nil {
			b.WriteString(p.Logs())
		}
	}
	return b.String()
}

// KillAlpha kills an alpha, like a crash.
func (s *Dgraph) KillAlpha(i int) { s.alphas[i].Kill() }

// DSNs returns the addresses of the alphas.
func (s *Dgraph) DSNs() (out []string) {
	for _, p := range s.alphas {
		out = append(out, fmt.Sprintf("dgraph://localhost:%d", p.port+alphaGRPC))
	}
	return out
}

func (s *Dgraph) answers(port int, path string) func(context.Context) error {
	return func(context.Context) error {
		_, err := get(port, path)
		return err
	}
}

func get(port int, path string) ([]byte, error) {
	return read(http.Get(fmt.Sprintf("http://localhost:%d%s", port, path)))
}

func read(resp *http.Response, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.Errorf("%s: %s", resp.Status, tail(string(body)))
	}
	return body, err
}

// Stop stops the cluster and removes its folders.
func (s *Dgraph) Stop() {
	for _, p := range append(s.alphas, s.zero) {
		if p != nil {
			p.Kill()
			p.remove()
		}
	}
}

// freeOffset finds an offset at which each of the given ports is free.
func freeOffset(ports ...int) (int, error) {
	for range 100 {
		offset := 10000 + rand.Intn(40000)
		free := true
		for _, port := range ports {
			l, err := net.Listen("tcp", fmt.Sprintf("localhost:%d", port+offset))
			if err != nil {
				free = false
				break
			}
			l.Close()
		}
		if free {
			return offset, nil
		}
	}
	return 0, errors.New("no free ports")
}
