package fromfile

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	_ "github.com/isohound/isohound/drivers/badger"
	_ "github.com/isohound/isohound/drivers/bbolt"
	_ "github.com/isohound/isohound/drivers/mariadb"
	_ "github.com/isohound/isohound/drivers/mongo"
	_ "github.com/isohound/isohound/drivers/postgres"
	_ "github.com/isohound/isohound/drivers/sim"
	_ "github.com/isohound/isohound/drivers/sqlite"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/internal/modeldb"
	"github.com/isohound/isohound/internal/mongotest"
	"github.com/isohound/isohound/internal/replay"
	"github.com/isohound/isohound/internal/worktest"
	"github.com/isohound/isohound/servers"
	"github.com/isohound/isohound/workloads"
)

// dsn is the DSNs of the servers, by driver.
var dsn = map[string]string{}

func TestMain(m *testing.M) { os.Exit(servers.Both(m, dsn)) }

const shop = "file=../../examples/workload-file/shop.yaml"

// TestDocs: the guide shows the example as it is, and the example has nothing that weakens verdicts.
func TestDocs(t *testing.T) {
	path := strings.TrimPrefix(shop, "file=")
	example, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../../docs/workload-files.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(guide), string(example)) {
		t.Error("docs/workload-files.md does not show examples/workload-file/shop.yaml as it is")
	}
	for name := range generators {
		if !strings.Contains(string(guide), "`"+name+"(") {
			t.Errorf("docs/workload-files.md lacks the generator %s", name)
		}
	}
	spec, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	text, notes, err := Describe(spec)
	if err != nil || len(notes) > 0 || !strings.Contains(text, "transaction buy, 27.8 % of all") || !strings.Contains(text, "scans rows of orders by a condition and reads n, state, note, changed") {
		t.Errorf("%v %v\n%s", err, notes, text)
	}
}

// TestSeed: the same seed gives the same plan; other seeds and workers give other plans.
func TestSeed(t *testing.T) {
	worktest.SamePlans(t, func() generator.Workload { return worktest.New(t, shop, workloads.Common{Sessions: 4}) })
}

// TestSerial: executed one after another, the example records on each database what it records on plain maps.
func TestSerial(t *testing.T) {
	mongo, err := mongotest.Start() // stands in for MongoDB
	if err != nil {
		t.Fatal(err)
	}
	defer mongo.Stop()
	dsn["mongo"] = mongo.URI()
	for _, name := range []string{"sqlite", "sim", "bbolt", "badger", "postgres", "mariadb", "mongo"} {
		for n, file := range []string{shop, "file=" + write(t, every)} {
			t.Run(fmt.Sprint(name, " ", n), func(t *testing.T) {
				d, err := drivers.Find(name)
				if err != nil {
					t.Fatal(err)
				}
				iso := d.Info().Isolations[0].Name
				create := func() (generator.Workload, error) { return replay.New(file, workloads.Common{Sessions: 4}) }
				if err := replay.AgainstModel(d, drivers.Config{DSN: dsn[name], Isolation: iso}, false, create, 4, 100, 7); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// every has every kind of statement, generator and value.
const every = `
params: {size: 6}
tables:
  t:
    key: {id: int}
    columns: {a: int, b: int null, s: text(30) null, v: stamp}
    indexes: [[a], [s, a]]
  pair:
    key: {name: text(20), n: int}
    groups:
      low: {x: int, moved: stamp}
      high: {y: int, s: text}
rows:
  - INSERT INTO t (id, a, s) VALUES (range(1, size), uniform(0, 9), text('s', zipfian(1, 5)))
  - INSERT INTO t (id, a, b, s) VALUES (100, -3, 4, 'it''s')
  - INSERT INTO pair (name, n, x, y, s) VALUES (text('p', range(1, 2)), range(1, 3), 0, hotspot(1, 9), 'y')
draw:
  id: exponential(1, size)
  seq: sequence(1000)
  old: recent(seq, 8)
  u: unique()
  word: choice('x', 'yy', 's1')
  name: text('p', uniform(1, 2))
  n: latest(1, 3)
transactions:
  reads:
    weight: 4
    statements:
      - do: SELECT a, b FROM t WHERE id = :id
        as: r
      - SELECT s FROM t WHERE a >= :r.a AND a <> :r.b ORDER BY a DESC, id LIMIT 2
      - SELECT id FROM t WHERE id IN (:id, :old, 100) AND b IS NULL
      - SELECT id FROM t WHERE s LIKE 's%' AND b IS NOT NULL
      - SELECT * FROM pair WHERE name = :name AND n BETWEEN :n AND :n + 1
      - do: SELECT COUNT(*) FROM t WHERE a < :size - 1
        as: c
      - if: :c.rows != 0 AND :c.rows <= :size + 10
        do: SELECT y FROM pair WHERE name = :name AND n = :n
  writes:
    weight: 6
    statements:
      - INSERT INTO t (id, a, b, s) VALUES (:seq, :n - 2, NULL, :word)
      - UPDATE t SET a = a - :n WHERE id = :id
      - UPDATE t SET b = b + -2 WHERE id = 100
      - do: SELECT a, s FROM t WHERE id = :old
        as: r
      - UPDATE t SET a = :r.a + 1, b = :u, s = :r.s WHERE id = :old
      - UPDATE pair SET x = :u WHERE name = :name AND n = :n
      - UPDATE pair SET y = y + 1 WHERE n = :n
      - UPDATE t SET a = :n, b = 5, s = 'z' WHERE a > 8
      - INSERT INTO t (id, a, s) VALUES (:id, 1, 'new') ON CONFLICT (id) DO UPDATE SET a = a + 1
      - INSERT INTO t (id, a, s) VALUES (:n + 50, 1, 'new') ON CONFLICT DO UPDATE SET a = 2, b = NULL, s = :word
  removes:
    statements:
      - DELETE FROM t WHERE id = :old
      - DELETE FROM t WHERE a > 7 AND id >= 1000;
      - do: SELECT a FROM t WHERE id = :id -- a comment
        as: r
      - if: :r.rows = 0
        do: INSERT INTO t (id, a) VALUES (:id, 3)
  undone:
    think: 1us
    statements:
      - UPDATE t SET a = a + 1 WHERE id = :id
      - DELETE FROM pair
      - ROLLBACK
`

// TestDatabases: what each isolation keeps and breaks, found by the example. A run that does not break a level
// is repeated with other seeds, because how sessions overlap is a matter of timing; every run must satisfy the levels that are
// kept.
func TestDatabases(t *testing.T) {
	const tries = 25
	for _, c := range []struct {
		driver, isolation, dsn string
		kept, broken           level.Level // 0: none
	}{
		{"sqlite", "", "", level.SSER, 0},
		{"sim", "serializable", "", level.SSER, 0},
		{"sim", "snapshot isolation", "sim://?yield=0.5", level.StrongSI, level.SER},
		{"sim", "snapshot isolation", "sim://?yield=0.5&rate=1&off=first-committer-wins", 0, level.SI},
		{"sim", "serializable snapshot isolation", "sim://?yield=0.5&rate=1&off=predicates", 0, level.SER},
		{"badger", "", "", level.SI, level.SER},
		{"postgres", "serializable", "", level.SER, 0},
		{"postgres", "repeatable read", "", level.SI, level.SER},
		{"postgres", "read committed", "", 0, level.SI},
	} {
		t.Run(strings.Join([]string{c.driver, c.isolation, c.dsn}, " "), func(t *testing.T) {
			for seed := int64(1); ; seed++ {
				h := record(t, c.driver, c.isolation, c.dsn, seed)
				if c.kept != 0 {
					worktest.Verdict(t, h, c.kept, verdict.Satisfied)
				}
				if c.broken == 0 {
					return
				}
				r, err := checker.Check(t.Context(), h, c.broken, checker.Options{Certify: true})
				if err != nil {
					t.Fatal(err)
				}
				if r.Verdict == verdict.Violated {
					return
				}
				if t.Logf("seed %d: %s %s", seed, c.broken, r.Verdict); seed == tries {
					t.Fatalf("%s was not broken in %d runs", c.broken, tries)
				}
			}
		})
	}
}

func record(t *testing.T, driver, isolation, at string, seed int64) *history.History {
	t.Helper()
	const sessions = 10
	if at == "" {
		at = dsn[driver]
	}
	d, err := drivers.Find(driver)
	if err != nil {
		t.Fatal(err)
	}
	iso, err := d.Info().FindIsolation(isolation)
	if err != nil {
		t.Fatal(err)
	}
	w := worktest.New(t, shop, workloads.Common{Sessions: sessions, Seed: seed}, "products=4")
	db := worktest.Open(t, driver, drivers.Config{DSN: at, Isolation: iso.Name, CallTimeout: generator.DefaultCallTimeout}, w)
	h := worktest.Run(t, db, w, generator.Config{Sessions: sessions, Txns: 60, Retries: 3, Seed: seed, CallTimeout: generator.DefaultCallTimeout, Patience: generator.DefaultPatience})
	if h, _, err = scans.Expand(t.Context(), h, 1<<30); err != nil {
		t.Fatal(err)
	}
	if s := h.Scans; s.Scans < 50 || s.Judged != s.Scans {
		t.Fatalf("scans %+v", s)
	}
	return h
}

// TestRecorded: what each statement is recorded as.
func TestRecorded(t *testing.T) {
	raw, err := replay.Serial(modeldb.Driver{}, drivers.Config{}, worktest.New(t, "file="+write(t, every), workloads.Common{Sessions: 4}), 4, 100, 7)
	if err != nil {
		t.Fatal(err)
	}
	h, err := replay.Load(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Schema.Check(); err != nil || len(h.Schema) != 2 || h.Schema[0].Indexes[1].Columns[0] != "s" {
		t.Fatalf("%v %+v", err, h.Schema)
	}
	kinds := map[string]int{}
	values := map[string]bool{}
	for i := range h.Txns {
		rec := h.Record(i)
		if rec.Status != history.Committed && !(rec.Status == history.Aborted && len(rec.Predicates) > 0) {
			t.Errorf("T%d is %v: %s", rec.ID, rec.Status, rec.Cause)
		}
		kinds[rec.Status.String()]++
		for _, p := range rec.Predicates {
			kinds[p.Kind]++
			for _, w := range p.Where {
				kinds[p.Table+"."+w.Column+" "+w.Op]++
			}
			if p.Limit > 0 {
				kinds[fmt.Sprint(p.Order, p.Limit)]++
			}
		}
		for _, o := range rec.Ops {
			key := h.KeyName(o.Key)
			place, ok := h.Schema.ParseItem(key)
			if !ok {
				t.Fatalf("T%d: %s", rec.ID, key)
			}
			kinds[fmt.Sprint(o.Kind, " ", place.Table.Name, " ", place.Group)]++
			if o.Kind != history.Write || place.Table.Name != "t" {
				continue
			}
			content := key + h.ValueText(o.Value)
			if o.Value != history.Absent && values[content] {
				t.Errorf("T%d writes %s, which another one has written, although it has a stamp", rec.ID, content)
			}
			values[content] = true
		}
	}
	for _, kind := range []string{"committed", "aborted", "[-a id] 2", "count", "delete", "read", "update", "pair.n =", "pair.n between", "pair.name =", "t.a <", "t.a <>", "t.a >", "t.a >=",
		"t.b is-not-null", "t.b is-null", "t.id in", "t.s like-prefix", "r pair 0", "r pair 1", "r t 0", "w pair 0", "w pair 1", "w t 0"} {
		if kinds[kind] == 0 {
			t.Errorf("nothing was recorded of the kind %q: %v", kind, kinds)
		}
	}
}
