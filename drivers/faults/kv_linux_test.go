package faults_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A small server: keys by number, and transactions that are checked when they commit. Each connection has a process, which runs
// this test's program again; what is stored is in memory that they share.
//
// A commit checks that nobody has written since what it read, lets go of the lock for a moment, and checks again
// before it writes. The second check is wrong: it ignores writers that began after the first one, as if they were sure to see
// this commit. So a whole transaction must fit between the two.

const (
	kvFile   = "ISOHOUND_TEST_KV"     // the file that is shared
	kvWindow = "ISOHOUND_TEST_WINDOW" // how long the lock is free
	kvWrong  = "ISOHOUND_TEST_WRONG"  // the second check is wrong if this is not empty
	kvKeys   = 256
	kvSize   = 8 * (1 + 2*kvKeys)
)

func TestMain(m *testing.M) {
	if file := os.Getenv(kvFile); file != "" {
		window, _ := time.ParseDuration(os.Getenv(kvWindow))
		if err := serveKV(file, window, os.Getenv(kvWrong) != ""); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// shared is the memory of all processes: the number of the last transaction that began, and the writer and the value of each key.
type shared struct {
	lock *os.File
	mem  []byte
}

func openShared(file string) (*shared, error) {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	mem, err := syscall.Mmap(int(f.Fd()), 0, kvSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	return &shared{f, mem}, err
}

// locked runs f while no other process is in the memory.
func (s *shared) locked(f func()) {
	for syscall.Flock(int(s.lock.Fd()), syscall.LOCK_EX) == syscall.EINTR { // as after SIGCONT
	}
	f()
	syscall.Flock(int(s.lock.Fd()), syscall.LOCK_UN)
}

func (s *shared) get(n int) int64    { return int64(binary.LittleEndian.Uint64(s.mem[8*n:])) }
func (s *shared) set(n int, v int64) { binary.LittleEndian.PutUint64(s.mem[8*n:], uint64(v)) }
func (s *shared) writer(k int) int64 { return s.get(1 + 2*k) }
func (s *shared) value(k int) int64  { return s.get(2 + 2*k) }
func (s *shared) write(k int, writer, v int64) {
	s.set(1+2*k, writer)
	s.set(2+2*k, v)
}

// kvTx is a transaction: the writers of what it read, and what it will write.
type kvTx struct {
	id            int64
	reads, writes map[int]int64
}

// serveKV is the process of a connection, which is file 3. A request is a line: B, R key, W key value, C; the answer a number.
func serveKV(file string, window time.Duration, wrong bool) error {
	s, err := openShared(file)
	if err != nil {
		return err
	}
	c, err := net.FileConn(os.NewFile(3, "connection"))
	if err != nil {
		return err
	}
	var t kvTx
	for in := bufio.NewScanner(c); in.Scan(); {
		words := strings.Fields(in.Text())
		arg := make([]int64, 2)
		for n, w := range words[1:] {
			if arg[n], err = strconv.ParseInt(w, 10, 64); err != nil {
				return err
			}
		}
		answer, k := int64(0), int(arg[0])
		switch words[0] {
		case "B":
			t = kvTx{reads: map[int]int64{}, writes: map[int]int64{}}
			s.locked(func() { t.id = s.get(0) + 1; s.set(0, t.id) })
		case "R":
			if v, own := t.writes[k]; own {
				answer = v
				break
			}
			var from int64
			s.locked(func() { from, answer = s.writer(k), s.value(k) })
			if _, again := t.reads[k]; !again {
				t.reads[k] = from
			}
		case "W":
			t.writes[k] = arg[1]
		case "C":
			if s.commit(&t, window, wrong) {
				answer = 1
			}
		}
		if _, err := fmt.Fprintln(c, answer); err != nil {
			return nil
		}
	}
	return nil
}

// commit writes what t wrote, unless something that it read was written since.
func (s *shared) commit(t *kvTx, window time.Duration, wrong bool) bool {
	good := true
	var last int64
	s.locked(func() {
		last = s.get(0)
		for k, from := range t.reads {
			good = good && s.writer(k) == from
		}
	})
	for began := time.Now(); time.Since(began) < window; {
	}
	s.locked(func() {
		for k, from := range t.reads {
			now := s.writer(k)
			good = good && (now == from || wrong && now > last)
		}
		for k, v := range t.writes {
			if good {
				s.write(k, t.id, v)
			}
		}
	})
	return good
}

// kvServer starts a process for each connection, and pauses them.
type kvServer struct {
	listener net.Listener
	file     string
	mu       sync.Mutex
	procs    []*exec.Cmd
	turn     int
}

func startKV(t *testing.T, window time.Duration, wrong bool) *kvServer {
	t.Helper()
	file, err := os.Create(t.TempDir() + "/shared")
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Truncate(kvSize); err != nil {
		t.Fatal(err)
	}
	file.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &kvServer{listener: l, file: file.Name()}
	env := append(os.Environ(), kvFile+"="+s.file, kvWindow+"="+window.String())
	if wrong {
		env = append(env, kvWrong+"=yes")
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.serve(c.(*net.TCPConn), env)
		}
	}()
	t.Cleanup(s.stop)
	return s
}

func (s *kvServer) serve(c *net.TCPConn, env []string) {
	defer c.Close()
	f, err := c.File()
	if err != nil {
		return
	}
	defer f.Close()
	p := exec.Command(os.Args[0])
	p.Env, p.ExtraFiles, p.Stderr = env, []*os.File{f}, os.Stderr
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Start() == nil {
		s.procs = append(s.procs, p)
	}
}

func (s *kvServer) stop() {
	s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.procs {
		p.Process.Kill()
		p.Wait()
	}
}

func (s *kvServer) Kill()        {}
func (s *kvServer) Start() error { return nil }

// Pause stops the process of a session, each in turn.
func (s *kvServer) Pause(bool) (func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.procs) == 0 {
		return func() {}, nil
	}
	p := s.procs[s.turn%len(s.procs)].Process
	s.turn++
	return func() { p.Signal(syscall.SIGCONT) }, p.Signal(syscall.SIGSTOP)
}
