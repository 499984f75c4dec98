package embedtest

import (
	"bufio"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// serve is the environment variable that makes the test binary a server: a folder, then the
// ports for clients and for peers.
const serve = "ISOHOUND_ETCD"

// TestMain makes a process of its own of each server, so that it can be killed.
func TestMain(m *testing.M) {
	if arg := os.Getenv(serve); arg != "" {
		if err := runServer(strings.Split(arg, "|")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// runServer runs a server until standard input ends, which happens when the test process has
// ended.
func runServer(arg []string) error {
	cfg := embed.NewConfig()
	cfg.Dir = arg[0]
	client, peer := url.URL{Scheme: "http", Host: arg[1]}, url.URL{Scheme: "http", Host: arg[2]}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	// Only a crash of the whole machine loses what was not synced.
	cfg.UnsafeNoFsync = true
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	defer e.Close()
	select {
	case <-e.Server.ReadyNotify():
		fmt.Println("ready")
	case err := <-e.Err():
		return err
	}
	os.Stdin.Read(make([]byte, 1)) // returns at the end of the input
	return nil
}

// server is an etcd server of one member on loopback.
type server struct {
	dir, client, peer string
	cmd               *exec.Cmd
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{dir: filepath.Join(t.TempDir(), "etcd"), client: address(t), peer: address(t)}
	s.start(t)
	t.Cleanup(s.kill)
	return s
}

// address is one that is free.
func address(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (s *server) start(t *testing.T) {
	t.Helper()
	s.cmd = exec.Command(os.Args[0])
	s.cmd.Env = append(os.Environ(), serve+"="+strings.Join([]string{s.dir, s.client, s.peer}, "|"))
	s.cmd.Stderr = os.Stderr
	if _, err := s.cmd.StdinPipe(); err != nil { // ends with this process
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ready := make(chan error, 1)
	go func() {
		_, err := bufio.NewReader(out).ReadString('\n')
		ready <- err
	}()
	select {
	case err := <-ready:
		if err != nil {
			t.Fatal("the server did not start: ", err)
		}
	case <-time.After(time.Minute):
		s.kill()
		t.Fatal("the server is not ready after a minute")
	}
}

// kill kills the server without a shutdown.
func (s *server) kill() {
	if s.cmd.ProcessState == nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
	}
}
