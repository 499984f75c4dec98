package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// TestNATSAccess: servers that ask for a password, a token, credentials or TLS, with and without them. No
// message has a secret.
func TestNATSAccess(t *testing.T) {
	dir := t.TempDir()
	cert, key := certificate(t, dir)
	tls := fmt.Sprintf("tls { cert_file: %q, key_file: %q }\n", cert, key)
	operator, creds, others := credentials(t, dir)
	for _, tc := range []struct {
		name, config string
		// the URL has USER@ where a secret may be; ok and bad are what stands there
		ok, bad, flags, badFlags, want string
		tls                            bool
	}{
		{name: "password", config: `authorization { user: judge, password: "s3cret" }`, ok: "judge:s3cret@", bad: "judge:secr3t@", want: "give --nats-creds, or a user and password"},
		{name: "token", config: `authorization { token: "s3cret" }`, ok: "s3cret@", bad: "secr3t@", want: "give --nats-creds, or a user and password"},
		{name: "nothing given", config: `authorization { token: "s3cret" }`, ok: "s3cret@", want: "give --nats-creds, or a user and password"},
		{name: "credentials", config: operator, flags: "--nats-creds " + creds, badFlags: "--nats-creds " + others, want: "give --nats-creds"},
		{name: "no credentials", config: operator, flags: "--nats-creds " + creds, want: "give --nats-creds"},
		{name: "TLS", config: tls, flags: "--nats-ca " + cert, want: "--nats-ca names the file", tls: true},
		{name: "TLS and password", config: tls + `authorization { user: judge, password: "s3cret" }`, ok: "judge:s3cret@", bad: "judge:secr3t@", flags: "--nats-ca " + cert, badFlags: "--nats-ca " + cert, want: "give --nats-creds", tls: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, url := startNATS(t, "--config", write(t, "nats.conf", tc.config), "--listen", "127.0.0.1:0", "--store", t.TempDir())
			scheme, host, _ := strings.Cut(url, "://")
			if tc.tls != (scheme == "tls") {
				t.Fatal(url)
			}
			judge := func(secret, flags string) call {
				return isohound(t, append([]string{"judge", "--idle", "1ms", "--from", scheme + "://" + secret + host}, strings.Fields(flags)...)...)
			}
			if c := judge(tc.bad, tc.badFlags); c.code != 69 || !strings.Contains(c.msg, "NATS server "+url) || !strings.Contains(c.msg, tc.want) || strings.Contains(c.msg, "secr3t") {
				t.Errorf("exit code %d: %s", c.code, c.msg)
			}
			if c := judge(tc.ok, tc.flags); c.code != 0 || !strings.Contains(c.msg, "judging windows from "+url+"\n") {
				t.Errorf("exit code %d: %s", c.code, c.msg)
			}
			loader := func(secret, flags string) call {
				return isohound(t, append([]string{"load", "--join", scheme + "://" + secret + host}, strings.Fields(flags)...)...)
			}
			if c := loader(tc.bad, tc.badFlags); c.code != 69 || !strings.Contains(c.msg, tc.want) || strings.Contains(c.msg, "secr3t") {
				t.Errorf("exit code %d: %s", c.code, c.msg)
			}
			if c := loader(tc.ok, tc.flags); c.code != 69 || !strings.Contains(c.msg, "no run that may be joined is on NATS server "+url) {
				t.Errorf("exit code %d: %s", c.code, c.msg)
			}
			run := filepath.Join(t.TempDir(), "run")
			if c := isohound(t, append([]string{"run", "--sessions", "2", "--txns", "50", "--cut-every", "1s", "--out", run, "--publish", scheme + "://" + tc.bad + host, "--no-progress"}, strings.Fields(tc.badFlags)...)...); c.code != 69 {
				t.Errorf("exit code %d: %s", c.code, c.msg)
			}
			if _, err := os.Stat(run); err == nil {
				t.Error("the run has begun")
			}
		})
	}
}

func TestPublishUsage(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"run --publish nats://127.0.0.1:1", "--publish needs --cut-every"},
		{"run --nats-ca x", "need --publish"},
		{"run --cut-every 1s --publish http://127.0.0.1:1", "expected a URL such as nats://"},
		{"run --cut-every 1s --publish nats://127.0.0.1:1 --nats-creds absent", "--nats-creds: stat absent"},
		{"judge", "needs --from"},
		{"judge --from nats://", "names no host"},
		{"judge --from nats://u:%zz@h", "special characters in passwords must be escaped"},
		{"judge --from nats://127.0.0.1:1 --idle -1s", "--idle must not be negative"},
	} {
		if c := isohound(t, strings.Fields(tc.args)...); c.code != 64 || !strings.Contains(c.msg, tc.want) {
			t.Errorf("%s: exit code %d: %s", tc.args, c.code, c.msg)
		}
	}
	if c := isohound(t, "judge", "--from", "nats://127.0.0.1:1"); c.code != 69 || !strings.Contains(c.msg, "is it running?") {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
	if c := isohound(t, "nats", "--config", write(t, "nats.conf", "nonsense {")); c.code != 69 {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
}

// certificate makes files with a certificate for 127.0.0.1, signed by itself, and its key.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// credentials makes the configuration of a server with an operator and an account, a file with credentials
// of a user of this account, and one of another operator's.
func credentials(t *testing.T, dir string) (config, creds, others string) {
	t.Helper()
	must := func(text string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	pair := func(kp nkeys.KeyPair, err error) (nkeys.KeyPair, string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return kp, must(kp.PublicKey())
	}
	make := func(name string) (string, string) {
		operator, operatorID := pair(nkeys.CreateOperator())
		system, systemID := pair(nkeys.CreateAccount())
		account, accountID := pair(nkeys.CreateAccount())
		user, userID := pair(nkeys.CreateUser())
		oc := jwt.NewOperatorClaims(operatorID)
		oc.SystemAccount = systemID
		ac := jwt.NewAccountClaims(accountID)
		ac.Limits.JetStreamLimits.DiskStorage, ac.Limits.JetStreamLimits.MemoryStorage = -1, -1
		_ = system
		config := fmt.Sprintf("operator: %s\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: { %s: %s, %s: %s }\n", must(oc.Encode(operator)), systemID,
			systemID, must(jwt.NewAccountClaims(systemID).Encode(operator)), accountID, must(ac.Encode(operator)))
		seed, err := user.Seed()
		if err != nil {
			t.Fatal(err)
		}
		text, err := jwt.FormatUserConfig(must(jwt.NewUserClaims(userID).Encode(account)), seed)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return config, file
	}
	config, creds = make("judge.creds")
	_, others = make("other.creds")
	return config, creds, others
}
