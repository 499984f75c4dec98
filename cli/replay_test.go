package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/internal/replay"
	"github.com/isohound/isohound/workloads"
)

// replayed are parameters with which workloads are replayed in addition to their defaults: those
// with a different behaviour.
var replayed = map[string][]string{
	"append":   {"appends=5 rollback=20%"},
	"blindw":   {"variant=Pred"},
	"general":  {"operations=7 order=drawn"},
	"lwt":      {"as=transaction", "birth=3 inserts=20%"},
	"mini":     {"birth=3 rollback=20%", "birth=3 death=delete"},
	"register": {"retire=0"},
	"scan":     {"scans=read,count,update,delete conditions=key,indexed,unindexed,all birth=3 stay=10 tables=5 empty=4 duplicates=30 rollback=20%"},
	"skew":     {"birth=2 rollback=20%"},
	"tpcc": {
		"warehouses=3 scale=0.2% items=50 districts=4",
		"warehouses=2 scale=0.2% items=20 districts=3 next=set rollback=20% remote-stock=30%",
	},
	"ycsbt": {"preset=HD duplicates=100"},
}

// large are the workloads whose default population is too large for a model that reads all rows
// in every scan. They only run with the parameters in replayed.
var large = []string{"tpcc"}

// blind are the drivers that do not report whether overwritten data existed.
var blind = []string{"badger", "bbolt", "redis"}

// absent are drivers without a test here. The databases of some cannot be installed; they share
// their code with PostgreSQL and MariaDB. Others have such a test in their own package: etcd,
// whose server is in a separate module, and Dgraph.
var absent = []string{"cockroach", "tidb", "yugabyte", "etcd", "dgraph"}

// TestAgainstModel runs each workload serially on each database, and on a database of plain
// maps. The histories must be the same, operation by operation, including the rows of
// predicates, and all invariants must hold.
func TestAgainstModel(t *testing.T) {
	const workers, txns, txnsOfServer = 4, 40, 20
	dsn := map[string]func(*testing.T) string{"postgres": postgresDSN, "mariadb": mariadbDSN, "mongo": mongoDSN, "cassandra": cassandraDSN, "redis": redisDSN, "firebird": firebirdDSN}
	for _, d := range drivers.All() {
		info := d.Info()
		cfg := drivers.Config{Isolation: info.Isolations[0].Name}
		if !info.Embedded {
			if slices.Contains(absent, info.Name) {
				continue
			}
			find, ok := dsn[info.Name]
			if !ok {
				t.Errorf("driver %s is not replayed", info.Name)
				continue
			}
			cfg.DSN = find(t)
		}
		for _, spec := range workloads.All() {
			sets := replayed[spec.Name]
			if !slices.Contains(large, spec.Name) {
				sets = append([]string{""}, sets...)
			}
			for _, set := range sets {
				t.Run(strings.Join(strings.Fields(info.Name+" "+spec.Name+" "+set), " "), func(t *testing.T) {
					make := func() (generator.Workload, error) {
						// Few keys, so that transactions conflict.
						c := workloads.Common{Sessions: workers, Keys: 40}
						if n := spec.Defaults.Keys; n > 0 && n <= 100 {
							c.Keys = n
						}
						return replay.New(spec.Name, c, strings.Fields(set)...)
					}
					w, err := make()
					if err != nil {
						t.Fatal(err)
					}
					if lacks(info, spec, w) {
						t.Skipf("driver %s lacks what workload %s needs", info.Name, spec.Name)
					}
					n := txns
					if !info.Embedded { // each commit waits for the disk
						n = txnsOfServer
					}
					if err := replay.AgainstModel(d, cfg, slices.Contains(blind, info.Name), make, workers, n, 11); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// lacks reports whether a driver cannot do what a workload needs.
func lacks(info drivers.Info, spec workloads.Spec, w generator.Workload) bool {
	needs := slices.Clone(spec.Needs)
	if n, ok := w.(generator.Needer); ok {
		needs = append(needs, n.Needs()...)
	}
	return slices.ContainsFunc(needs, func(c drivers.Capability) bool { return !slices.Contains(info.Can, c) })
}
