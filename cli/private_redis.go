//go:build !front

package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/isohound/isohound/servers"
)

// fsyncs are what may follow redis= and redis-sentinel=: when the server has its log on disk. With off there is none.
var fsyncs = []string{"always", "everysec", "no", "off"}

func isRedis(kind string) bool { return kind == "redis" || kind == "redis-sentinel" }

// resolveRedis is resolveServer for Redis.
func (s *settings) resolveRedis(c *cobra.Command, kind, fsync string, has bool) error {
	switch {
	case has && !slices.Contains(fsyncs, fsync):
		return usage("--server %s: expected %s alone, or = and one of %s", s.server, kind, strings.Join(fsyncs, ", "))
	case len(s.dsns) > 0:
		return usage("--server and --dsn do not go together")
	case c.Flags().Changed("driver") && s.driver != "redis":
		return usage("--server %s is for --driver redis, not %s", s.server, s.driver)
	}
	s.driver = "redis"
	return nil
}

// startRedis starts a private server, or one with a replica and sentinels.
func startRedis(kind, fsync string, opts ...servers.Option) (privateServer, error) {
	switch fsync {
	case "":
	case "off":
		opts = append(opts, servers.Set("appendonly", "no"))
	default:
		opts = append(opts, servers.Set("appendfsync", fsync))
	}
	if kind == "redis" {
		s, err := servers.StartRedis(opts...)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	s, err := servers.StartRedisSentinel(opts...)
	if err != nil {
		return nil, err
	}
	return s, nil
}
