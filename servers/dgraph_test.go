package servers

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestDgraph: a cluster is a Server of which all or one alpha is killed, and what was committed is there afterwards.
func TestDgraph(t *testing.T) {
	for _, version := range DgraphVersions {
		t.Run(version, func(t *testing.T) {
			if _, err := FindDgraph(version); err != nil {
				t.Fatal(err)
			}
			here(t)
			spec, err := ParseSpec("dgraph@" + version)
			if err != nil {
				t.Fatal(err)
			}
			server, err := spec.Begin()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Stop)
			s := server.(*dgraphServer)
			if n := len(strings.Split(server.DSN(), "\n")); n != spec.Nodes() {
				t.Errorf("%d addresses of %d", n, spec.Nodes())
			}
			ask := func(path, mime, body string) string {
				t.Helper()
				resp, err := http.Post(fmt.Sprintf("http://localhost:%d%s", s.alphas[0].port+alphaHTTP, path), mime, strings.NewReader(body))
				text, err := read(resp, err)
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			mime := "application/dql"
			if s.old {
				mime = "application/graphql+-"
			}
			ask("/alter", mime, "name: string @index(exact) .")
			ask("/mutate?commitNow=true", "application/rdf", `{ set { _:x <name> "kept" . } }`)
			running := func(want ...bool) {
				t.Helper()
				for n, p := range s.all() {
					if p.running() != want[n] {
						t.Errorf("process %d runs: %t", n, p.running())
					}
				}
			}
			again := func() {
				t.Helper()
				if err := server.Start(); err != nil {
					t.Fatal(err)
				}
				running(true, true, true)
				if text := ask("/query", mime, `{ q(func: eq(name, "kept")) { name } }`); !strings.Contains(text, `"kept"`) {
					t.Error(text)
				}
			}
			server.Kill()
			running(false, false, false)
			if _, err := server.Pause(false); err == nil || !strings.Contains(err.Error(), "does not run") {
				t.Error(err)
			}
			again()
			s.Aim(2)
			server.Kill()
			running(true, true, false)
			again()
			resume, err := server.Pause(false)
			if err != nil {
				t.Fatal(err)
			}
			resume()
			if _, err := server.Pause(true); err == nil || !strings.Contains(err.Error(), "pause the whole cluster instead") {
				t.Error(err)
			}
			server.Stop()
			running(false, false, false)
		})
	}
	if _, err := StartDgraph("24", 1, 1); err == nil || !strings.Contains(err.Error(), "there is no Dgraph 24 here, but 25.0.0 and 1.1.1") {
		t.Error(err)
	}
	if _, err := StartDgraph("1.1.1", 1, 1, Set("a", "b")); err == nil || !strings.Contains(err.Error(), "takes none") {
		t.Error(err)
	}
}
