package catalogue

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/servers/docker"
)

// dockerReady bounds the start of all containers.
const dockerReady = 5 * time.Minute

// containers are those of a scenario, managed with docker's command line. It removes only what it has created, by
// the ids that docker returned.
type containers struct {
	target *Target
	driver string // its Open tells whether an endpoint is ready
	iso    string
	note   func(string)

	prefix  string            // of all names
	network string            // its id, "" if there is one container
	ids     map[string]string // by container
	logs    map[string]*growing
	follow  sync.WaitGroup
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

// startDocker starts the containers of a scenario and waits until each endpoint can be used.
// After an error it removes what it has created.
func startDocker(ctx context.Context, s *Scenario, note func(string)) (*running, error) {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand)
	d := &containers{
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
func (d *containers) withLogs(err error) error {
	for _, c := range d.target.Containers {
		if log := d.logs[c.Name]; log != nil && log.String() != "" {
			err = errors.Errorf("%v; %s: %s", err, c.Name, docker.LastLine(log.String()))
		}
	}
	return err
}

func (d *containers) start(ctx context.Context) ([]string, error) {
	docker.Sweep(ctx, d.note)
	// Before the time is measured.
	if err := docker.Image(ctx, d.target.Image, d.target.Dockerfile, d.note); err != nil {
		return nil, err
	}
	if err := d.makeNetwork(ctx); err != nil {
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
		err := d.until(ctx, func(context.Context) error {
			_, err := docker.Do(ctx, dockerReady, nil, args...) // it may take long
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
		if err := d.until(ctx, func(ctx context.Context) error { return d.ready(ctx, dsn) }); err != nil {
			return nil, err
		}
	}
	return dsns, nil
}

// makeNetwork makes the network on which the containers of a cluster reach one another, and on which alone their names
// are known. Clients reach them through docker's own bridge, so a container can be disconnected from the others
// while clients still reach it.
func (d *containers) makeNetwork(ctx context.Context) (err error) {
	if len(d.target.Containers) > 1 {
		d.network, err = docker.Do(ctx, docker.Answer, nil, "network", "create", docker.Label(), "--internal", d.cluster())
	}
	return err
}

func (d *containers) cluster() string { return d.prefix + "-nodes" }

// run starts a container. It is created first, so that it is on both networks when its process
// starts. In a cluster it has no hostname of its own choice: docker would make that an alias on the bridge, too.
func (d *containers) run(ctx context.Context, c *Container) error {
	args := []string{"create", "--rm", docker.Label(), "--name", d.prefix + "-" + c.Name}
	if d.network == "" {
		args = append(args, "--hostname", c.Name)
	} else {
		args = append(args, "--network", d.cluster(), "--network-alias", c.Name)
	}
	if c.Port > 0 {
		args = append(args, "--publish", fmt.Sprintf("127.0.0.1::%d", c.Port))
	}
	for _, name := range sorted(c.Env) {
		args = append(args, "--env", name+"="+c.Env[name])
	}
	id, err := docker.Do(ctx, docker.Answer, nil, append(append(args, d.target.Image), c.Command...)...)
	if err != nil {
		return err
	}
	id = docker.LastLine(id)
	d.ids[c.Name] = id
	if d.network != "" {
		if _, err := docker.Do(ctx, docker.Answer, nil, "network", "connect", "bridge", id); err != nil {
			return err
		}
	}
	if _, err := docker.Do(ctx, docker.Answer, nil, "start", id); err != nil {
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

// connect connects a container to the others again.
func (d *containers) connect(ctx context.Context, node string) error {
	_, err := docker.Do(ctx, docker.Answer, nil, "network", "connect", "--alias", node, d.cluster(), d.ids[node])
	return err
}

// until repeats f until it succeeds, ctx ends, or a container has ended.
func (d *containers) until(ctx context.Context, f func(context.Context) error) error {
	ids := map[string]string{}
	for name, id := range d.ids {
		ids["container "+name] = id
	}
	return docker.Await(ctx, ids, f)
}

// ready reports whether the driver can use an endpoint.
func (d *containers) ready(ctx context.Context, dsn string) error {
	engine, err := drivers.Find(d.driver)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, docker.Answer)
	defer cancel()
	info := engine.Info()
	iso, err := info.FindIsolation(d.iso)
	if err != nil {
		return err
	}
	db, err := engine.Open(ctx, drivers.Config{DSN: dsn, Isolation: iso.Name, CallTimeout: docker.Answer})
	if err != nil {
		return err
	}
	return db.Close(ctx)
}

// stop removes the containers and their network, even after ctx has ended.
func (d *containers) stop() {
	ctx := context.Background()
	for n := len(d.target.Containers) - 1; n >= 0; n-- {
		if id := d.ids[d.target.Containers[n].Name]; id != "" {
			if err := docker.Remove(ctx, id); err != nil {
				d.note(fmt.Sprintf("left behind: container %s: %v", id, err))
			}
		}
	}
	if d.network != "" {
		if _, err := docker.Do(ctx, docker.End, nil, "network", "rm", d.network); err != nil {
			d.note(fmt.Sprintf("left behind: network %s: %v", d.network, err))
		}
		d.network = ""
	}
	d.follow.Wait()
}
