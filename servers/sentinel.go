package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gomodule/redigo/redis"
	"github.com/pkg/errors"
)

// RedisSentinel is a primary of Redis with a replica, and three sentinels. When the primary does not answer for a
// second, they make the replica the primary; that takes some seconds. What the replica had not received is lost.
type RedisSentinel struct {
	nodes     []*Redis
	sentinels []*process
	killed    []*Redis
}

const (
	sentinels = 3
	// primaryName is the name of the primary among the sentinels.
	primaryName = "isohound"
)

// StartRedisSentinel starts all of them and waits until the sentinels know each other. Settings are those of both
// servers, as in StartRedis.
func StartRedisSentinel(opts ...Option) (*RedisSentinel, error) {
	c, err := configure(opts)
	if err != nil {
		return nil, err
	}
	s := &RedisSentinel{}
	if err := s.begin(c, opts); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (s *RedisSentinel) begin(c *config, opts []Option) error {
	primary, err := StartRedis(opts...)
	if err != nil {
		return err
	}
	s.nodes = append(s.nodes, primary)
	replica, err := primary.StartReplica(opts...)
	if err != nil {
		return err
	}
	s.nodes = append(s.nodes, replica)
	for range sentinels {
		if err := s.watch(primary); err != nil {
			return err
		}
	}
	for _, p := range s.sentinels {
		if err := p.await(c.ctx, func(context.Context) error { return p.knows() }); err != nil {
			return err
		}
	}
	return nil
}

// watch starts a sentinel.
func (s *RedisSentinel) watch(primary *Redis) error {
	p, err := newProcess("redis-sentinel", "redis", syscall.SIGKILL, nil)
	if err != nil {
		return err
	}
	s.sentinels = append(s.sentinels, p)
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	p.port = ports[0]
	conf := filepath.Join(p.dir, "sentinel.conf")
	text := fmt.Sprintf(`bind 127.0.0.1
port %d
dir %s
set-proc-title no
sentinel monitor %[3]s 127.0.0.1 %[4]d 2
sentinel down-after-milliseconds %[3]s 1000
sentinel failover-timeout %[3]s 5000
`, p.port, p.dir, primaryName, primary.port)
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		return errors.WithStack(err)
	}
	if err := p.give(conf); err != nil {
		return err
	}
	return p.launch(primary.bin, conf, "--sentinel")
}

// knows returns an error until the sentinel knows the replica and the other sentinels.
func (p *process) knows() error {
	said, err := redis.StringMap(askRedis(p.port, "SENTINEL", "MASTER", primaryName))
	if err == nil && (said["flags"] != "master" || said["num-slaves"] != "1" || said["num-other-sentinels"] != fmt.Sprint(sentinels-1)) {
		err = errors.Errorf("the sentinel knows %s replicas and %s other sentinels of a %s", said["num-slaves"], said["num-other-sentinels"], said["flags"])
	}
	return err
}

// DSN returns the address of the sentinels.
func (s *RedisSentinel) DSN() string {
	var hosts []string
	for _, p := range s.sentinels {
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", p.port))
	}
	return "redis://" + strings.Join(hosts, ",") + "/0?sentinel=" + primaryName
}

// Logs returns the logs of all servers and sentinels.
func (s *RedisSentinel) Logs() string {
	var b strings.Builder
	for _, n := range s.nodes {
		fmt.Fprintf(&b, "== server on port %d\n%s", n.port, n.Logs())
	}
	for _, p := range s.sentinels {
		fmt.Fprintf(&b, "== sentinel on port %d\n%s", p.port, p.Logs())
	}
	return b.String()
}

// Primary returns the server that the sentinels consider the primary.
func (s *RedisSentinel) Primary() (*Redis, error) {
	err := errors.New("no sentinel runs")
	for _, p := range s.sentinels {
		var said []string
		if said, err = redis.Strings(askRedis(p.port, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", primaryName)); err != nil || len(said) != 2 {
			continue
		}
		for _, n := range s.nodes {
			if fmt.Sprint(n.port) == said[1] {
				return n, nil
			}
		}
	}
	return nil, errors.WithMessage(err, "the sentinels name no primary")
}

// Kill kills the primary.
func (s *RedisSentinel) Kill() {
	if p, err := s.Primary(); err == nil {
		p.Kill()
		s.killed = append(s.killed, p)
	}
}

// Start starts again what Kill has killed. If there is another primary meanwhile, the sentinels make it a replica
// of that.
func (s *RedisSentinel) Start() error {
	for len(s.killed) > 0 {
		if err := s.killed[0].Start(); err != nil {
			return err
		}
		s.killed = s.killed[1:]
	}
	return nil
}

// Pause stops the primary with SIGSTOP until the returned function is called.
func (s *RedisSentinel) Pause(backends bool) (resume func(), err error) {
	p, err := s.Primary()
	if err != nil {
		return nil, err
	}
	return p.Pause(backends)
}

// Stop ends all of them and removes their folders.
func (s *RedisSentinel) Stop() {
	for _, p := range s.sentinels {
		p.signal(syscall.SIGTERM)
		p.remove()
	}
	for n := len(s.nodes) - 1; n >= 0; n-- {
		s.nodes[n].Stop()
	}
}
