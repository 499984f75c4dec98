package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/pkg/errors"
)

// Redis is a private Redis server.
type Redis struct {
	*process
	bin  string
	conf string
}

const redisPackage = "redis-server"

// StartRedis starts a server that has what it acknowledged on disk: appendonly yes and appendfsync always, unless they
// are set otherwise. Settings are the directives of redis.conf.
func StartRedis(opts ...Option) (*Redis, error) {
	c, err := configure(opts)
	if err != nil {
		return nil, err
	}
	s, err := newRedis("redis", c)
	if err == nil {
		err = s.begin(c.ctx)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// newRedis makes a folder with a configuration. The server rewrites it when its role changes.
func newRedis(kind string, c *config, lines ...string) (*Redis, error) {
	bin, err := find("redis-server", redisPackage)
	if err != nil {
		return nil, err
	}
	p, err := newProcess(kind, "redis", syscall.SIGKILL, c)
	if err != nil {
		return nil, err
	}
	s := &Redis{process: p, bin: bin, conf: filepath.Join(p.dir, "redis.conf")}
	ports, err := freePorts(1)
	if err == nil {
		p.port = ports[0]
		// Otherwise the title of the process hides its command line.
		text := fmt.Sprintf("bind 127.0.0.1\nport %d\ndir %s\nset-proc-title no\nrepl-diskless-sync-delay 0\n", p.port, p.dir)
		for _, l := range append([]string{`save ""`, "appendonly yes", "appendfsync always"}, lines...) {
			text += l + "\n"
		}
		for _, set := range c.settings {
			if set.value == "" {
				set.value = `""`
			}
			text += strings.ReplaceAll(set.name, "_", "-") + " " + set.value + "\n"
		}
		if err = os.WriteFile(s.conf, []byte(text), 0o644); err == nil {
			err = p.give(s.conf)
		}
	}
	if err != nil {
		p.remove()
		return nil, errors.WithStack(err)
	}
	return s, nil
}

// StartReplica starts a replica of the server and waits until it has its data. Settings are those of the replica.
func (s *Redis) StartReplica(opts ...Option) (*Redis, error) {
	c, err := configure(opts)
	if err != nil {
		return nil, err
	}
	r, err := newRedis("redis-replica", c, fmt.Sprintf("replicaof 127.0.0.1 %d", s.port))
	if err != nil {
		return nil, err
	}
	if err = r.begin(c.ctx); err == nil {
		err = r.await(c.ctx, func(ctx context.Context) error {
			info, err := r.Info("replication")
			if err == nil && info["master_link_status"] != "up" {
				err = errors.New("the replica has not got the primary's data")
			}
			return err
		})
	}
	if err != nil {
		r.Stop()
		return nil, err
	}
	return r, nil
}

// Detach makes a replica follow nobody, as if the network between it and the primary were cut.
func (s *Redis) Detach() error {
	_, err := s.Do("REPLICAOF", "127.0.0.1", "1")
	return err
}

// Promote makes a replica a primary.
func (s *Redis) Promote() error {
	_, err := s.Do("REPLICAOF", "NO", "ONE")
	return err
}

// Start starts the server again after Kill, in the role that it had.
func (s *Redis) Start() error { return s.begin(context.Background()) }

// begin starts the server. If that fails, a server that never ran is removed.
func (s *Redis) begin(ctx context.Context) error {
	first := s.version == ""
	err := s.start(ctx, func(context.Context) error {
		info, err := s.Info("everything")
		if err == nil && info["loading"] != "0" {
			err = errors.New("it loads its data")
		}
		if err == nil {
			s.version = info["redis_version"]
		}
		return err
	}, s.bin, s.conf)
	if err != nil && first {
		s.Stop()
	}
	return err
}

// Do runs one command on its own connection. It returns an error that the server answers.
func (s *Redis) Do(command string, args ...any) (any, error) {
	return askRedis(s.port, command, args...)
}

func askRedis(port int, command string, args ...any) (any, error) {
	const limit = 10 * time.Second
	c, err := redis.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port), redis.DialConnectTimeout(limit), redis.DialReadTimeout(limit), redis.DialWriteTimeout(limit))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Do(command, args...)
}

// Info returns a section of what the server says about itself.
func (s *Redis) Info(section string) (map[string]string, error) {
	text, err := redis.String(s.Do("INFO", section))
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			out[name] = value
		}
	}
	return out, nil
}

func (s *Redis) host() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// DSN returns the address of the server.
func (s *Redis) DSN() string { return "redis://" + s.host() + "/0" }

// DSNWith returns the address of the server and of one that may take over.
func (s *Redis) DSNWith(other *Redis) string {
	return "redis://" + s.host() + "," + other.host() + "/0"
}

// Pause stops the server with SIGSTOP until the returned function is called. It has one process for all sessions.
func (s *Redis) Pause(backends bool) (resume func(), err error) {
	if backends {
		return nil, errors.New("Redis has one process for all sessions; pause the whole server instead")
	}
	if !s.running() {
		return nil, errors.New("the server does not run")
	}
	return halt([]int{s.cmd.Process.Pid})
}

// Stop ends the server and removes its folder. A server that is writing its first log would refuse to end by itself.
func (s *Redis) Stop() {
	s.Kill()
	s.remove()
}

// MissingRedis names the package that is missing for starting Redis here, or "".
func MissingRedis() string { return missing(redisPackage, "/usr/bin", "redis-server") }
