package catalogue

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

const (
	// Time limits: dockerAnswer for a question to the daemon, dockerPull for pulling or building
	// an image, dockerReady for the start of all containers, and dockerEnd for removing one.
	dockerAnswer = 10 * time.Second
	dockerPull   = 20 * time.Minute
	dockerReady  = 5 * time.Minute
	dockerEnd    = 30 * time.Second
	// dockerPoll is the interval of polling.
	dockerPoll = 500 * time.Millisecond
)

// docker manages containers with docker's command line. It removes only what it has created, by
// the ids that docker returned.
type docker struct {
	target *Target
	driver string // its Open tells whether an endpoint is ready
	iso    string
	note   func(string)

	prefix   string // of all names
	networks []string
	ids      map[string]string // by container
	logs     map[string]*growing
	follow   sync.WaitGroup
}

// growing is a log that is read while it is written.
type growing struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (g *growing) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.b.Write(p)
}

func (g *growing) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.b.String()
}

// available returns why docker cannot be used here, nil if it can be used.
func (d *docker) available(ctx context.Context) error {
	if _, err := exec.LookPath("docker"); err != nil {
		return errors.New("there is no program docker here")
	}
	_, err := d.do(ctx, dockerAnswer, nil, "version", "--format", "{{.Server.Version}}")
	return errors.Wrap(err, "the daemon does not answer")
}

// do runs a command of docker and returns what it printed.
func (d *docker) do(ctx context.Context, limit time.Duration, in io.Reader, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := own(exec.CommandContext(ctx, "docker", args...))
	var out, msg bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = in, &out, &msg
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		} else if said := lastLine(msg.String()); said != "" {
			err = errors.New(said)
		}
		return "", errors.Wrap(err, "docker "+args[0])
	}
	return strings.TrimSpace(out.String()), nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// startDocker starts the containers of a scenario and waits until each endpoint can be used.
// After an error it removes what it has created.
func startDocker(ctx context.Context, s *Scenario, note func(string)) (*running, error) {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand)
	d := &docker{
		target: &s.Target, driver: s.Driver, iso: s.Isolation, note: note,
		prefix: "isohound-" + hex.EncodeToString(random[:]), ids: map[string]string{}, logs: map[string]*growing{},
	}
	dsns, err := d.start(ctx)
	if err != nil {
		d.stop()
		return nil, d.withLogs(err)
	}
	r := &running{dsns: dsns, what: "containers " + d.prefix + "-*", stop: d.stop, logs: map[string]func() string{}}
	for name, log := range d.logs {
		r.logs[name+".log"] = log.String
	}
	if len(d.target.Disturb) > 0 {
		r.disturb = d.disturb
	}
	return r, nil
}

// withLogs appends the ends of the containers' logs to an error.
func (d *docker) withLogs(err error) error {
	for _, c := range d.target.Containers {
		if log := d.logs[c.Name]; log != nil && log.String() != "" {
			err = errors.Errorf("%v; %s: %s", err, c.Name, lastLine(log.String()))
		}
	}
	return err
}

func (d *docker) start(ctx context.Context) ([]string, error) {
	if err := d.image(ctx); err != nil {
		return nil, err
	}
	if err := d.makeNetworks(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, dockerReady, errors.Errorf("the containers are not ready after %s", dockerReady))
	defer cancel()
	for n := range d.target.Containers {
		if err := d.run(ctx, &d.target.Containers[n]); err != nil {
			return nil, err
		}
	}
	for _, step := range d.target.Setup {
		args := []string{"exec", d.ids[step.Node]}
		for _, word := range step.Exec {
			full, err := d.expand(ctx, word, nil)
			if err != nil {
				return nil, err
			}
			args = append(args, full)
		}
		err := d.until(ctx, func() error {
			_, err := d.do(ctx, dockerReady, nil, args...)
			return err
		})
		if err != nil {
			return nil, errors.Wrapf(err, "setup of %s", step.Node)
		}
	}
	var dsns []string
	for n := range d.target.Containers {
		if c := &d.target.Containers[n]; c.DSN != "" {
			dsn, err := d.expand(ctx, c.DSN, c)
			if err != nil {
				return nil, err
			}
			dsns = append(dsns, dsn)
		}
	}
	for _, dsn := range dsns {
		if err := d.until(ctx, func() error { return d.ready(ctx, dsn) }); err != nil {
			return nil, err
		}
	}
	return dsns, nil
}

// image pulls or builds the image, before the time is measured.
func (d *docker) image(ctx context.Context) error {
	if _, err := d.do(ctx, dockerAnswer, nil, "image", "inspect", d.target.Image); err == nil {
		return nil
	}
	if d.target.Dockerfile != "" {
		d.note("building " + d.target.Image)
		_, err := d.do(ctx, dockerPull, strings.NewReader(d.target.Dockerfile), "build", "--tag", d.target.Image, "-")
		return err
	}
	d.note("fetching " + d.target.Image)
	_, err := d.do(ctx, dockerPull, nil, "pull", "--quiet", d.target.Image)
	return err
}

// makeNetworks makes the two networks of a cluster: one on which clients reach each container
// but containers do not reach one another, and one on which containers reach one another. So a
// container can be disconnected from the others while clients still reach it.
func (d *docker) makeNetworks(ctx context.Context) error {
	if len(d.target.Containers) < 2 {
		return nil
	}
	for _, n := range [][]string{
		{"--opt", "com.docker.network.bridge.enable_icc=false", d.prefix + "-clients"},
		{"--internal", d.cluster()},
	} {
		id, err := d.do(ctx, dockerAnswer, nil, append([]string{"network", "create"}, n...)...)
		if err != nil {
			return err
		}
		d.networks = append(d.networks, id)
	}
	return nil
}

func (d *docker) cluster() string { return d.prefix + "-nodes" }

// run starts a container. It is created first, so that it is on both networks when its process
// starts.
func (d *docker) run(ctx context.Context, c *Container) error {
	args := []string{"create", "--rm", "--name", d.prefix + "-" + c.Name, "--hostname", c.Name}
	if len(d.networks) > 0 {
		args = append(args, "--network", d.prefix+"-clients")
	}
	if c.Port > 0 {
		args = append(args, "--publish", fmt.Sprintf("127.0.0.1::%d", c.Port))
	}
	for _, name := range sorted(c.Env) {
		args = append(args, "--env", name+"="+c.Env[name])
	}
	id, err := d.do(ctx, dockerAnswer, nil, append(append(args, d.target.Image), c.Command...)...)
	if err != nil {
		return err
	}
	id = lastLine(id)
	d.ids[c.Name] = id
	if len(d.networks) > 0 {
		if err := d.connect(ctx, c.Name); err != nil {
			return err
		}
	}
	if _, err := d.do(ctx, dockerAnswer, nil, "start", id); err != nil {
		return err
	}
	// When a container ends, it is removed with its log.
	log := &growing{}
	d.logs[c.Name] = log
	follow := own(exec.Command("docker", "logs", "--follow", id))
	follow.Stdout, follow.Stderr = log, log
	if err := follow.Start(); err != nil {
		return errors.WithStack(err)
	}
	d.follow.Go(func() { _ = follow.Wait() })
	return nil
}

func (d *docker) connect(ctx context.Context, node string) error {
	_, err := d.do(ctx, dockerAnswer, nil, "network", "connect", "--alias", node, d.cluster(), d.ids[node])
	return err
}

// until repeats f until it succeeds, ctx ends, or a container ends.
func (d *docker) until(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		for name, id := range d.ids {
			if state, lost := d.do(ctx, dockerAnswer, nil, "inspect", "--format", "{{.State.Running}}", id); lost == nil && state == "false" || lost != nil && ctx.Err() == nil {
				return errors.Errorf("container %s has ended (%v)", name, err)
			}
		}
		select {
		case <-ctx.Done():
			return errors.Wrap(err, context.Cause(ctx).Error())
		case <-time.After(dockerPoll):
		}
	}
}

// ready reports whether the driver can use an endpoint.
func (d *docker) ready(ctx context.Context, dsn string) error {
	engine, err := drivers.Find(d.driver)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, dockerAnswer)
	defer cancel()
	info := engine.Info()
	iso, err := info.FindIsolation(d.iso)
	if err != nil {
		return err
	}
	db, err := engine.Open(ctx, drivers.Config{DSN: dsn, Isolation: iso.Name, CallTimeout: dockerAnswer})
	if err != nil {
		return err
	}
	return db.Close(ctx)
}

// stop removes containers and networks, even after ctx has ended.
func (d *docker) stop() {
	ctx := context.Background()
	for n := len(d.target.Containers) - 1; n >= 0; n-- {
		if id := d.ids[d.target.Containers[n].Name]; id != "" {
			if _, err := d.do(ctx, dockerEnd, nil, "rm", "--force", "--volumes", id); err != nil {
				d.note(fmt.Sprintf("left behind: container %s: %v", id, err))
			}
		}
	}
	for _, id := range d.networks {
		if _, err := d.do(ctx, dockerEnd, nil, "network", "rm", id); err != nil {
			d.note(fmt.Sprintf("left behind: network %s: %v", id, err))
		}
	}
	d.networks = nil
	d.follow.Wait()
}
