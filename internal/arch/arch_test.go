// Package arch tests the directions of dependencies in the project.
package arch

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/isohound/isohound/"

// never lists, for each folder, the folders on which it must not depend, directly or indirectly.
// docs/architecture.md has the picture.
var never = map[string][]string{
	"accel":     {"history", "drivers", "generator", "workloads", "checker", "scenarios", "results", "bench", "servers", "catalogue", "remote", "hunt", "cli", "cmd", "internal"},
	"history":   {"drivers", "generator", "workloads", "accel", "checker", "scenarios", "results", "bench", "servers", "catalogue", "remote", "hunt", "cli", "cmd", "internal"},
	"drivers":   {"generator", "workloads", "accel", "checker", "scenarios", "results", "bench", "servers", "catalogue", "remote", "hunt", "cli", "cmd", "history"},
	"generator": {"workloads", "accel", "checker", "scenarios", "results", "bench", "servers", "catalogue", "remote", "hunt", "cli", "cmd"},
	"workloads": {"accel", "checker", "scenarios", "results", "bench", "servers", "catalogue", "remote", "hunt", "cli", "cmd"},
	"checker":   {"drivers", "generator", "workloads", "scenarios", "results", "bench", "servers", "catalogue", "remote", "hunt", "cli", "cmd"},
	"isotest":   {"drivers", "generator", "workloads", "scenarios", "results", "bench", "servers", "catalogue", "remote", "hunt", "cli", "cmd"},
	"results":   {"workloads", "scenarios", "bench", "servers", "catalogue", "remote", "hunt", "cli", "cmd"},
	"bench":     {"workloads", "scenarios", "catalogue", "remote", "hunt", "cli", "cmd"},
	"scenarios": {"history", "drivers", "generator", "workloads", "accel", "checker", "results", "bench", "servers", "catalogue", "remote", "hunt", "cli", "cmd", "internal"},
	"catalogue": {"bench", "hunt", "remote", "cli", "cmd"},
	"hunt":      {"scenarios", "bench", "catalogue", "remote", "cli", "cmd"},
	"remote":    {"history", "drivers", "generator", "workloads", "accel", "checker", "scenarios", "results", "bench", "servers", "catalogue", "hunt", "cli", "cmd", "internal"},
	"servers":   {"history", "drivers", "generator", "workloads", "checker", "scenarios", "results", "bench", "catalogue", "remote", "hunt", "cli", "cmd"},
}

// words are packages that a folder may import from a folder on which it must not depend: drivers
// translate the tables and conditions of histories, and what they promise are levels.
var words = map[string][]string{"drivers": {"history/schema", "history/quote", "checker/level"}}

func deps(t *testing.T, pattern string, flags ...string) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", append(append([]string{"list"}, flags...), "-f", `{{.ImportPath}}: {{join .Deps " "}}`, module+pattern)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	all := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		pkg, list, _ := strings.Cut(line, ": ")
		all[strings.TrimPrefix(pkg, module)] = strings.Fields(list)
	}
	return all
}

// folder returns the folder of a package, "" for one that every folder may use: internal/memory only
// asks the system about memory, and internal/infile only opens files.
func folder(pkg string) string {
	rest, ok := strings.CutPrefix(pkg, module)
	if !ok || rest == "internal/memory" || rest == "internal/infile" {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

func TestDirections(t *testing.T) {
	seen := map[string]bool{}
	for pkg, list := range deps(t, "...") {
		own, _, _ := strings.Cut(pkg, "/")
		seen[own] = true
		for _, dep := range list {
			if slices.Contains(words[own], strings.TrimPrefix(dep, module)) {
				continue
			}
			if r := folder(dep); r != "" && slices.Contains(never[own], r) {
				t.Errorf("%s depends on %s", pkg, dep)
			}
		}
	}
	for r := range never {
		if !seen[r] {
			t.Errorf("there is no folder %s", r)
		}
	}
}

// clients are the client libraries of databases, and of NATS.
var clients = []string{"database/sql", "jackc/pgx", "go-sql-driver", "dgraph-io/badger", "bbolt", "go.etcd.io", "modernc.org", "mongodb.org/mongo-driver", "gocql", "go-cassandra-native-protocol", "dgraph-io/dgo", "gomodule/redigo", "nats-io"}

// TestIndependence: the certifier shares no code with the checkers, package history/schema
// depends on nothing of the project but the spelling of texts, and a build that checks saved histories links no database
// client.
func TestIndependence(t *testing.T) {
	for _, dep := range deps(t, "checker/certify")["checker/certify"] {
		if strings.HasPrefix(dep, module+"checker/") && dep != module+"checker/level" && dep != module+"checker/verdict" {
			t.Errorf("the certifier depends on %s", dep)
		}
	}
	for _, dep := range deps(t, "history/schema")["history/schema"] {
		if folder(dep) != "" && dep != module+"history/quote" && dep != module+"history/schema" {
			t.Errorf("the words of tables depend on %s", dep)
		}
	}
	for _, dep := range append(deps(t, "checker")["checker"], deps(t, "history/file")["history/file"]...) {
		for _, client := range clients {
			if strings.Contains(dep, client) {
				t.Errorf("the checkers depend on %s", dep)
			}
		}
	}
}

// TestFront: the program with only the judging commands starts fast because it links no database
// client, no chart library, and nothing that loads libc.
func TestFront(t *testing.T) {
	for _, dep := range deps(t, "cmd/isohound", "-tags", "front,nogpu")["cmd/isohound"] {
		for _, heavy := range append(clients, "gonum.org", "ebitengine/purego", "Shopify/toxiproxy", "google.golang.org", "net/http", "crypto/tls") {
			if strings.Contains(dep, heavy) {
				t.Errorf("the front depends on %s", dep)
			}
		}
	}
}
