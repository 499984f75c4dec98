package redis

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
	"github.com/isohound/isohound/servers"
)

// opens opens a database and closes it, and returns its notes.
func opens(dsn string) (notes string, err error) {
	db, err := driver{}.Open(ctx, drivers.Config{DSN: dsn, Isolation: watch})
	if err != nil {
		return "", err
	}
	return strings.Join(db.(drivers.Noter).Notes(), "; "), db.Close(ctx)
}

// refusedWith fails unless opening fails as an unreachable server, with a text, and without the password.
func refusedWith(t *testing.T, dsn, text string) {
	t.Helper()
	_, err := opens(dsn)
	var ue *drivers.UnreachableError
	if !errors.As(err, &ue) || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "secret") {
		t.Errorf("%s: %v", dsn, err)
	}
}

// TestUsers: users with passwords, and one that may only do what a run needs.
func TestUsers(t *testing.T) {
	s := private(t)
	host := strings.TrimSuffix(strings.TrimPrefix(s.DSN(), "redis://"), "/0")
	do(t, s, "ACL", "SETUSER", "me", "on", ">secret,pass word", "~isohound_*", "+@all")
	do(t, s, "ACL", "SETUSER", "little", "on", ">secret", "~isohound_*", "+auth", "+hello", "+select", "+client|setname", "+multi", "+exec", "+watch", "+unwatch",
		"+get", "+mget", "+set", "+del", "+exists", "+zadd", "+zrem", "+zrangebylex", "+eval", "+scan", "+unlink")
	do(t, s, "ACL", "SETUSER", "nothing", "on", ">secret", "~*", "-@all", "+hello", "+select", "+info", "+config")
	me := "redis://me:secret%2Cpass%20word@" + host + "/5"
	drivertest.Run(t, driver{}, me, true)
	drivertest.Tables(t, driver{}, "redis://little:secret@"+host+"/3")
	drivertest.Lightweight(t, driver{}, "redis://little:secret@"+host)
	if notes, err := opens("redis://little:secret@" + host); err != nil || !strings.Contains(notes, "CONFIG GET") {
		t.Errorf("%q, %v", notes, err)
	}
	refusedWith(t, "redis://me:secret2@"+host, "WRONGPASS")
	refusedWith(t, "redis://me:secret%2Cpass%20word@"+host+"/99", "DB index is out of range")
	db, err := driver{}.Open(ctx, drivers.Config{DSN: "redis://nothing:secret@" + host, Isolation: watch})
	must(t, err)
	_, err = db.Connect(ctx)
	drivertest.Class(t, "a user who may do nothing", err, drivers.Fatal, true)
	do(t, s, "CONFIG", "SET", "requirepass", "secret")
	refusedWith(t, s.DSN(), "NOAUTH")
	if _, err := opens("redis://:secret@" + host); err != nil {
		t.Error(err)
	}
}

// TestKinds: servers that cannot be used say why, and settings that lose data are noted.
func TestKinds(t *testing.T) {
	bus, err := net.Listen("tcp", "127.0.0.1:0") // by default it is 10,000 after the other port, and may be taken
	must(t, err)
	bus.Close()
	refusedWith(t, private(t, servers.Set("cluster-enabled", "yes"), servers.Set("cluster-port", fmt.Sprint(bus.Addr().(*net.TCPAddr).Port))).DSN(), "a node of a cluster")
	refusedWith(t, private(t, servers.Set("maxmemory", "100mb"), servers.Set("maxmemory-policy", "allkeys-lru")).DSN(), "noeviction")
	refusedWith(t, "redis://127.0.0.1:1,127.0.0.1:1/0", "connection refused")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 1000)) // what is not read would reset the connection
			fmt.Fprint(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			c.Close()
		}
	}()
	refusedWith(t, "redis://"+l.Addr().String(), "unexpected response line")
	primary := private(t)
	replica, err := primary.StartReplica()
	must(t, err)
	t.Cleanup(replica.Stop)
	refusedWith(t, replica.DSN(), "is a replica")
	if notes, err := opens(primary.DSN()); err != nil || !strings.Contains(notes, "has replicas (1)") {
		t.Errorf("%q, %v", notes, err)
	}
	if _, err := opens(replica.DSNWith(primary)); err != nil {
		t.Error(err)
	}
	for value, want := range map[string]string{"everysec": "appendfsync is everysec", "no": "appendfsync is no"} {
		do(t, primary, "CONFIG", "SET", "appendfsync", value)
		if notes, err := opens(primary.DSN()); err != nil || !strings.Contains(notes, want) {
			t.Errorf("%q, %v", notes, err)
		}
	}
	do(t, primary, "CONFIG", "SET", "appendonly", "no")
	if notes, err := opens(primary.DSN()); err != nil || !strings.Contains(notes, "appendonly is no") {
		t.Errorf("%q, %v", notes, err)
	}
}

// certificate writes a certificate for 127.0.0.1, which signs itself, and its key.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	must(t, err)
	secret, err := x509.MarshalECPrivateKey(private)
	must(t, err)
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	must(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644))
	must(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), 0o644))
	return cert, key
}

// TestTLS: a certificate is checked unless the DSN says otherwise.
func TestTLS(t *testing.T) {
	dir, err := os.MkdirTemp("", "isohound-tls-")
	must(t, err)
	defer os.RemoveAll(dir)
	must(t, os.Chmod(dir, 0o755)) // the server may run as another user
	cert, key := certificate(t, dir)
	s := private(t, servers.Set("tls-cert-file", cert), servers.Set("tls-key-file", key), servers.Set("tls-auth-clients", "no"))
	host := ""
	for n := 0; host == ""; n++ {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if _, err = s.Do("CONFIG", "SET", "tls-port", port); err == nil {
			host = fmt.Sprintf("127.0.0.1:%d", port)
		} else if n > 20 {
			t.Fatal(err)
		}
	}
	drivertest.Run(t, driver{}, "rediss://"+host+"?cacert="+cert, true)
	if _, err := opens("rediss://" + host + "?insecure=true"); err != nil {
		t.Error(err)
	}
	refusedWith(t, "rediss://"+host, "certificate")
}

// TestStranger: a server of another kind, with and without TLS, is asked for, and what never answers, too.
func TestStranger(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	host := strings.TrimPrefix(other.URL, "http://")
	refusedWith(t, "redis://"+host, "is this a Redis server without TLS?")
	refusedWith(t, "redis://:secret@"+host, "is this a Redis server without TLS?")
	refusedWith(t, "rediss://"+host, "the server has no TLS; "+remedies.Without)
	a := &address{tls: &tls.Config{}}
	if err := a.stranger(&lostError{false, errors.WithMessage(context.DeadlineExceeded, "TLS")}); !strings.Contains(err.Error(), "did not answer as expected within 15s; is this a Redis server with TLS?") {
		t.Error(err)
	}
	other.Close()
	if _, err := opens("redis://" + host); err == nil || strings.Contains(err.Error(), "is this") {
		t.Errorf("nobody listens: %v", err)
	}
}

// TestSentinel: the primary is found by the sentinels, also after a failover.
func TestSentinel(t *testing.T) {
	s, err := servers.StartRedisSentinel()
	must(t, err)
	t.Cleanup(s.Stop)
	refusedWith(t, strings.Replace(s.DSN(), "sentinel=", "sentinel=un", 1), `knows no primary called "un`)
	without, _, _ := strings.Cut(s.DSN(), "?")
	refusedWith(t, without, "is a sentinel; name its primary")
	db := drivertest.Open(t, driver{}, s.DSN(), "")
	if v, found, err := begin(t, db).Read(ctx, "a"); err != nil || !found || v != 1 {
		t.Errorf("%d, %v, %v", v, found, err)
	}
	s.Kill()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		session, err := db.Connect(ctx)
		if err == nil {
			session.Close()
			break
		}
		if e := drivers.AsError(err); e.Class != drivers.Aborted || !e.Broken {
			t.Fatalf("%+v", e)
		}
		if time.Now().After(end) {
			t.Fatalf("no failover: %v\n%s", err, s.Logs())
		}
	}
	if v, found, err := begin(t, db).Read(ctx, "a"); err != nil || !found || v != 1 {
		t.Errorf("%d, %v, %v", v, found, err)
	}
}

// TestCreatedOnReplicas: a run begins when the replica that may take over has its initial state. Otherwise a promotion
// right after the start would lose keys that the history says exist at first.
func TestCreatedOnReplicas(t *testing.T) {
	primary := private(t)
	replica, err := primary.StartReplica()
	must(t, err)
	t.Cleanup(replica.Stop)
	resume, err := replica.Pause(false)
	must(t, err)
	var resumed atomic.Bool
	time.AfterFunc(300*time.Millisecond, func() {
		resumed.Store(true)
		resume()
	})
	drivertest.Open(t, driver{}, primary.DSNWith(replica), "")
	if !resumed.Load() {
		t.Error("the run began while the replica had nothing")
	}
}
