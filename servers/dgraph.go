package servers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pkg/errors"
)

// Dgraph is a private cluster: one zero, and several alphas. The alphas serve separate groups,
// or all the same group.
type Dgraph struct {
	zero     *process
	alphas   []*process
	bin      string
	old      bool // 1.x, which has other flags
	replicas int  // of a group
}

// DgraphVersions are the versions of Dgraph that can be started, the newest first.
var DgraphVersions = []string{"25.0.0", "1.1.1"}

// FindDgraph returns the program of one of DgraphVersions, or an error that says where to get it. A
// program called dgraph may be of any version.
func FindDgraph(version string) (string, error) {
	if !slices.Contains(DgraphVersions, version) {
		return "", errors.Errorf("there is no Dgraph %s here, but %s", version, strings.Join(DgraphVersions, " and "))
	}
	return findBuilt("dgraph-"+version, "dgraph")
}

// StartDgraph starts a cluster of n alphas. replicas is the number of replicas of a group. It takes no settings.
func StartDgraph(version string, n, replicas int, opts ...Option) (*Dgraph, error) {
	c, err := configure(opts)
	if err != nil {
		return nil, err
	}
	if len(c.settings) > 0 {
		return nil, errors.Errorf("setting %s: a private Dgraph takes none", c.settings[0].name)
	}
	bin, err := FindDgraph(version)
	if err != nil {
		return nil, err
	}
	s := &Dgraph{bin: bin, old: strings.HasPrefix(version, "1."), replicas: replicas}
	if err = s.makeFolders(n); err == nil {
		err = s.begin(c.ctx)
	}
	if err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// makeFolders makes the folders of all processes, and finds their ports.
func (s *Dgraph) makeFolders(alphas int) (err error) {
	if s.zero, err = newProcess("dgraph-zero", "", syscall.SIGKILL, nil); err != nil {
		return err
	}
	taken := map[int]bool{}
	if s.zero.port, err = freeOffset(taken, zeroGRPC, zeroHTTP); err != nil {
		return err
	}
	for range alphas {
		p, err := newProcess("dgraph-alpha", "", syscall.SIGKILL, nil)
		if err != nil {
			return err
		}
		s.alphas = append(s.alphas, p)
		if p.port, err = freeOffset(taken, alphaInside, alphaHTTP, alphaGRPC); err != nil {
			return err
		}
	}
	return nil
}

// begin starts the processes that do not run, on what is in their folders.
func (s *Dgraph) begin(ctx context.Context) error {
	if !s.zero.running() {
		if err := s.startZero(ctx); err != nil {
			return err
		}
	}
	for _, p := range s.alphas {
		if p.running() {
			continue
		}
		if err := s.startAlpha(ctx, p); err != nil {
			return err
		}
	}
	for i, p := range s.alphas {
		if err := p.await(ctx, s.asks(i)); err != nil {
			return err
		}
	}
	return nil
}

// asks queries an alpha for the whole schema, which involves all groups. The health check is not
// enough: alphas report that they are healthy before they know each other.
func (s *Dgraph) asks(i int) func(context.Context) error {
	return func(ctx context.Context) error {
		mime := "application/dql"
		if s.old {
			mime = "application/graphql+-"
		}
		body, err := httpAsk(ctx, http.MethodPost, s.alphas[i].port+alphaHTTP, "/query", mime, "schema {}")
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

func (s *Dgraph) startZero(ctx context.Context) error {
	args := []string{"zero", "--bindall=false", "--logtostderr", fmt.Sprintf("--port_offset=%d", s.zero.port), fmt.Sprintf("--replicas=%d", s.replicas)}
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

func (s *Dgraph) startAlpha(ctx context.Context, p *process) error {
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
	for _, p := range s.all() {
		b.WriteString(p.Logs())
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
	return func(ctx context.Context) error {
		_, err := get(ctx, port, path)
		return err
	}
}

func get(ctx context.Context, port int, path string) ([]byte, error) {
	return httpAsk(ctx, http.MethodGet, port, path, "", "")
}

// askTimeout bounds a question to a server that is starting.
const askTimeout = 10 * time.Second

func httpAsk(ctx context.Context, method string, port int, path, mime, body string) ([]byte, error) {
	limit, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(limit, method, fmt.Sprintf("http://localhost:%d%s", port, path), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if mime != "" {
		req.Header.Set("Content-Type", mime)
	}
	return read(http.DefaultClient.Do(req))
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

// all returns all processes.
func (s *Dgraph) all() []*process {
	if s.zero == nil {
		return nil
	}
	return append([]*process{s.zero}, s.alphas...)
}

// Stop stops the cluster and removes its folders.
func (s *Dgraph) Stop() {
	for _, p := range s.all() {
		p.Kill()
		p.remove()
	}
}

// freeOffset finds an offset at which each of the given ports is free and not taken, and takes them. All are from
// lowestPort to highestPort.
func freeOffset(taken map[int]bool, ports ...int) (int, error) {
	lowest, highest := lowestPort-slices.Min(ports), highestPort-slices.Max(ports)
	for range 100 {
		offset := lowest + rand.Intn(highest-lowest+1)
		free := true
		for _, port := range ports {
			l, err := net.Listen("tcp", fmt.Sprintf("localhost:%d", port+offset))
			if err != nil {
				free = false
				break
			}
			l.Close()
			free = free && !taken[port+offset]
		}
		if free {
			for _, port := range ports {
				taken[port+offset] = true
			}
			return offset, nil
		}
	}
	return 0, errors.New("no free ports")
}
