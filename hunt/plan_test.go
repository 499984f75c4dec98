package hunt

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/isohound/isohound/drivers"
	_ "github.com/isohound/isohound/drivers/badger"
	_ "github.com/isohound/isohound/drivers/postgres"
	_ "github.com/isohound/isohound/drivers/sim"
	"github.com/isohound/isohound/internal/randhist"
	"github.com/isohound/isohound/internal/yamldoc"
	_ "github.com/isohound/isohound/workloads/append"
	_ "github.com/isohound/isohound/workloads/blindw"
	_ "github.com/isohound/isohound/workloads/ctwitter"
	_ "github.com/isohound/isohound/workloads/general"
	_ "github.com/isohound/isohound/workloads/lwt"
	_ "github.com/isohound/isohound/workloads/mini"
	_ "github.com/isohound/isohound/workloads/register"
	_ "github.com/isohound/isohound/workloads/rubis"
	_ "github.com/isohound/isohound/workloads/scan"
	_ "github.com/isohound/isohound/workloads/skew"
	_ "github.com/isohound/isohound/workloads/tpcc"
	_ "github.com/isohound/isohound/workloads/ycsbt"
)

const small = "targets:\n  - {name: a, driver: sim}\nworkloads:\n  - workload: mini\n"

// mistakes are plans with the problems that must be reported. bySchema: the schema knows of the mistake, too.
var mistakes = []struct {
	text     string
	bySchema bool
	want     string
}{
	{"", false, "p.yaml: the file is empty; isohound hunt --init writes a plan"},
	{"tagets: []\n" + small, true, `p.yaml:1: unknown key "tagets"; did you mean "targets"?`},
	{small + "levles: [ser]\n", true, `p.yaml:5: unknown key "levles"; did you mean "levels"?`},
	{"targets:\n  - {name: a, driver: sim}\nworkloads:\n  - workload: mini\n    parameters: {pairs: 50}\n", true, `p.yaml:5: unknown key "parameters"; did you mean "params"?`},
	{small + "xyz: 1\n", true, `p.yaml:5: unknown key "xyz"; known here are name, targets,`},
	{"targets:\n  - {name: a, driver: sim}\nworkloads:\n  - workload: file=../examples/workload-file/shop.yaml\n", false, "p.yaml:4: file=../examples/workload-file/shop.yaml needs a name in the plan"},
	{small + "keep: some\n", true, `p.yaml:5: keep: unknown value "some"; known are violated, reports, all`},
	{small + "keep: al\n", true, `did you mean "all"?`},
	{"targets: []\nworkloads:\n  - workload: mini\n", true, "p.yaml:1: targets is empty"},
	{"targets:\n  - {name: a, driver: sim}\n", true, "workloads is missing"},
	{"targets:\n  - {driver: sim}\nworkloads:\n  - workload: mini\n", true, "p.yaml:2: name is missing"},
	{small + "budget: {time: soon}\n", true, `p.yaml:5: expected a time such as 1m30s, not "soon"`},
	{small + "budget: {until: 25:00}\n", true, `p.yaml:5: expected a time of day such as "06:00", not "25:00"`},
	{small + "budget: {runs: -1}\n", true, "p.yaml:5: runs must not be below 1"},
	{small + "budget:\n  run: 1s\n  runs: 0\n", true, "p.yaml:7: runs must not be below 1"},
	{small + "budget:\n  time: 3m\n  run: 10m\n", false, "p.yaml:7: run of the budget is 10m0s, and time of the budget is 3m0s: no such run fits into a night"},
	{small + "budget: {time: 10s}\n", false, "p.yaml:5: run (its default) is 10s, and time of the budget is 10s"},
	{small + "    run: 5m\nbudget: {time: 3m, run: 1m}\n", false, "p.yaml:5: run of mini is 5m0s"},
	{small + "shrink: {tries: 0}\n", true, "p.yaml:5: tries must not be below 1"},
	{small + "shrink: {rusn: 1}\n", true, `p.yaml:5: unknown key "rusn"; did you mean "runs"?`},
	{small + "budget: {runs: \"0\"}\n", true, "p.yaml:5: \"0\" cannot stand here: expected a whole number"},
	{small + "budget: {runs: many}\n", true, "p.yaml:5: \"many\" cannot stand here: expected a whole number"},
	{small + "budget: 8h\n", true, `p.yaml:5: "8h" cannot stand here: expected keys with values`},
	{small + "    keys: 9..3\n", false, `p.yaml:5: expected LOW..HIGH with whole numbers and LOW not above HIGH, not "9..3"`},
	{small + "    keys: {a: 1}\n", true, "p.yaml:5: expected a value, a list of values, or a range such as 10..200"},
	{small + "    params: {pairs: }\n", true, "p.yaml:5: pairs has no value"},
	{small + "seed: 1\nseed: 2\n", false, `p.yaml:6: mapping key "seed" already defined at line 5`},
	{small + "expect:\n  - {verdict: violated, anomaly: LostUpdat}\n", false, `did you mean "LostUpdate"?`},
	{small + "levels: [sre]\n", false, `did you mean ser?`},
	{small + "levels: [ser, claimed, SER]\n", false, "p.yaml:5: SER stands here twice"},
	{small + "faults: [5s kil]\n", false, "p.yaml:5: fault:"},
	{"targets:\n  - {name: a, driver: smi}\nworkloads:\n  - workload: mini\n", false, `did you mean "sim"?`},
	{"targets:\n  - {name: a, driver: sim, isolations: [serialisable]}\nworkloads:\n  - workload: mini\n", false, `p.yaml:2: driver sim has no isolation "serialisable"`},
	{"targets:\n  - {name: a, driver: sim}\n  - {name: a, driver: badger}\nworkloads:\n  - workload: mini\n", false, `p.yaml:3: a second target is called "a"`},
	{"targets:\n  - {name: a/b, driver: sim}\nworkloads:\n  - workload: mini\n", false, `p.yaml:2: name "a/b"`},
	{"targets:\n  - {name: a, driver: postgres}\nworkloads:\n  - workload: mini\n", false, "p.yaml:2: the target a needs a dsn"},
	{"targets:\n  - {name: a}\nworkloads:\n  - workload: mini\n", false, "p.yaml:2: the target a needs a driver"},
	{"targets:\n  - {name: a, server: postgres, dsn: x}\nworkloads:\n  - workload: mini\n", false, "p.yaml:2: server and dsn do not go together"},
	{"targets:\n  - {name: a, server: postgress@18}\nworkloads:\n  - workload: mini\n", false, `p.yaml:2: server "postgress@18": expected postgres, postgres@VERSION`},
	{"targets:\n  - {name: a, server: tidb@2020}\nworkloads:\n  - workload: mini\n", false, "p.yaml:2: server \"tidb@2020\": of TiDB there are 2024 and 2019"},
	{"targets:\n  - {name: a, dsn: \"postgres://:S3cr#et@h\"}\nworkloads:\n  - workload: mini\n", false, "p.yaml:2: the DSN of the target a: the user name and the password must be percent-encoded"},
	{"targets:\n  - {name: a, dsn: \"${NO_SUCH_VARIABLE}\"}\nworkloads:\n  - workload: mini\n", false, "p.yaml:2: the environment variable NO_SUCH_VARIABLE is not set"},
	{"targets:\n  - {name: a, driver: sim}\nworkloads:\n  - workload: minni\n", false, `p.yaml:4: unknown workload "minni"`},
	{"targets:\n  - {name: a, driver: sim}\nworkloads:\n  - workload: mini\n  - workload: mini\n", false, `p.yaml:5: a second workload is called "mini"`},
	{small + "expect:\n  - {target: b, verdict: violated}\n", false, `p.yaml:6: no target of the plan is called "b"`},
	{small + "expect:\n  - {verdict: satisfied, anomaly: LostUpdate}\n", false, "p.yaml:6: anomaly goes with verdict violated only"},
	{small + "expect:\n  - {isolation: x, verdict: any}\n", false, `p.yaml:6: no target that this is about has an isolation "x"`},
	{small + "---\n" + small, false, "there is a second document"},
}

// TestMistakes: every mistake is found, with its line, and the schema finds what a schema can find.
func TestMistakes(t *testing.T) {
	schema := compiled(t)
	for _, m := range mistakes {
		_, err := Read("p.yaml", []byte(m.text))
		var plan *yamldoc.Error
		if !errors.As(err, &plan) || !strings.Contains(err.Error(), m.want) {
			t.Errorf("%q\n  got  %v\n  want %s", m.text, err, m.want)
		}
		if m.bySchema != (valid(t, schema, m.text) != nil) && m.text != "" && !strings.Contains(m.text, "---") && !strings.Contains(m.text, "seed: 2") {
			t.Errorf("%q: by the schema: %v", m.text, valid(t, schema, m.text))
		}
	}
}

// TestTextForNumber: a number in quotes is one mistake.
func TestTextForNumber(t *testing.T) {
	_, err := Read("p.yaml", []byte(small+"budget: {runs: \"0\"}\n"))
	if err == nil || strings.Contains(err.Error(), "below") || strings.Count(err.Error(), "p.yaml:") != 1 {
		t.Error(err)
	}
}

// TestUnset: of a target whose DSN is not known only that is told, and for a page nothing is, if runs tell the driver. An empty
// variable is as one that is not set.
func TestUnset(t *testing.T) {
	testUnset(t, "is not set")
	t.Setenv("NO_SUCH_VARIABLE", "")
	testUnset(t, "is empty")
}

func testUnset(t *testing.T, word string) {
	text := []byte("targets:\n  - {name: a, dsn: \"${NO_SUCH_VARIABLE}\"}\nworkloads:\n  - workload: mini\nexpect:\n  - {isolation: Repeatable Read, verdict: any}\n")
	unset := "p.yaml:2: the environment variable NO_SUCH_VARIABLE " + word
	if _, err := Read("p.yaml", text); err == nil || err.Error() != unset {
		t.Errorf("to be run: %v", err)
	}
	if _, err := Reread("p.yaml", text, func(_, _ string) string { return "" }); err == nil || !strings.HasPrefix(err.Error(), unset+", and no run of the target a tells its driver") {
		t.Errorf("of an unknown driver: %v", err)
	}
	p, err := Reread("p.yaml", text, func(plan, target string) string {
		if plan != "p" || target != "a" {
			t.Errorf("the driver of %s in %s", target, plan)
		}
		return "sim"
	})
	if err != nil {
		t.Fatal(err)
	}
	cells, _, err := p.Cells(func(args []string) error { return errors.New("nothing can be checked") })
	if err != nil || len(cells) == 0 || p.Expect[0].Isolation != "repeatable read" {
		t.Errorf("%d cells, %v, expected of %s", len(cells), err, p.Expect[0].Isolation)
	}
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("hunt.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("hunt.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// valid judges a plan by the schema, as an editor does.
func valid(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return err
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

// TestSchema: the file in docs is the schema.
func TestSchema(t *testing.T) {
	b, err := os.ReadFile("../docs/hunt.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b, Schema()) {
		t.Error("docs/hunt.schema.json is not the schema: isohound hunt --schema > docs/hunt.schema.json")
	}
}

// TestDrafts: what --init writes is a plan, for the decoder and for the schema, and it has cells.
func TestDrafts(t *testing.T) {
	t.Setenv("ISOHOUND_DSN", "postgres://me:secret@127.0.0.1/test")
	schema := compiled(t)
	all := []Starting{{}, {Server: "postgres"}, {Server: "postgres=/opt/pg/bin"}, {Server: "postgres@18.4?enable_seqscan=on"}, {DSN: "postgres://me@127.0.0.1/test"}, {DSN: "postgres://me:secret@127.0.0.1/test"}}
	for _, d := range drivers.All() {
		all = append(all, Starting{Driver: d.Info().Name})
	}
	for _, s := range all {
		text, err := Draft(s)
		if err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		if strings.Contains(text, "secret") {
			t.Errorf("%+v: the plan has the password", s)
		}
		p, err := Read("plan.yaml", []byte(text))
		if err != nil {
			t.Errorf("%+v: %v\n%s", s, err, text)
			continue
		}
		if err := valid(t, schema, text); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
		cells, _, err := p.Cells(func([]string) error { return nil })
		if err != nil || len(cells) < 2 {
			t.Errorf("%+v: %d cells, %v", s, len(cells), err)
		}
	}
	if _, err := Draft(Starting{Server: "orcl"}); err == nil || !strings.Contains(err.Error(), `--server "orcl": expected postgres`) {
		t.Errorf("a server that is none: %v", err)
	}
	if _, err := Draft(Starting{DSN: "what://x"}); err == nil {
		t.Error("a draft for a DSN of no driver")
	}
}

// TestCells: what a plan asks for, what cannot be run, and settings that isohound run refuses.
func TestCells(t *testing.T) {
	text := `
targets:
  - {name: s, driver: sim, isolations: [serializable, snapshot isolation]}
  - {name: pg, server: postgres, isolations: [repeatable read], faults: [none, 1s kill for 1s]}
workloads:
  - {workload: mini, keys: 10..20, sessions: [2, 4]}
  - {name: locks, workload: lwt}
faults: [none, 1s kill for 1s]
levels: [claimed, ser]
`
	p, err := Read("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var checked []string
	cells, left, err := p.Cells(func(args []string) error { checked = append(checked, strings.Join(args, " ")); return nil })
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range cells {
		ids = append(ids, c.ID())
	}
	got := strings.Join(ids, "\n")
	for _, want := range []string{"s / serializable / mini", "s / snapshot isolation / mini", "s / serializable / locks", "pg / repeatable read / mini", "pg / repeatable read / mini / 1s kill for 1s"} {
		if !strings.Contains("\n"+got+"\n", "\n"+want+"\n") {
			t.Errorf("no cell %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, "s / serializable / mini / 1s kill") || !strings.Contains(why(left), "is for a server that isohound starts") {
		t.Errorf("a server that is not ours is killed: %s; left out: %v", got, left)
	}
	for _, want := range []string{"--keys 10 ", "--keys 20 ", "--sessions 2 ", "--sessions 4 ", "--check claimed,ser", "--server postgres", "--fault 1s kill for 1s"} {
		if !strings.Contains(strings.Join(checked, "\n"), want) {
			t.Errorf("%s was not checked", want)
		}
	}
	_, _, err = p.Cells(func(args []string) error {
		if strings.Contains(strings.Join(args, " "), "--sessions 4") {
			return errors.New("four are too many")
		}
		return nil
	})
	if err == nil || err.Error() != "p.yaml:6: sessions 4: four are too many" {
		t.Errorf("settings that run refuses: %v", err)
	}
}

// TestRefused: what isohound run refuses is one problem for all cells, in the plan's words, where the plan has it.
func TestRefused(t *testing.T) {
	p, err := Read("p.yaml", []byte(`
targets:
  - name: s
    dsn: sim://?off=foo
workloads:
  - workload: mini
    txns: [0, 5]
    keys: 10
    params:
      pairs: x
  - workload: append
faults: [none, 1s pause backends 2ms every 4ms]
`))
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(other string) Check {
		return func(args []string) error {
			line := strings.Join(args, " ")
			switch {
			case strings.Contains(line, "--txns 0 "):
				return errors.New("--txns must be at least 1")
			case strings.Contains(line, "-p pairs=x "):
				return errors.New("-p pairs=x: expected a percentage")
			}
			return errors.New(other)
		}
	}
	if _, _, err = p.Cells(refuse("sim: --dsn: no foo; --duration 10s")); err == nil || err.Error() != `p.yaml:4: sim: dsn: no foo; run 10s
p.yaml:7: txns must be at least 1
p.yaml:10: pairs=x: expected a percentage` {
		t.Error(err)
	}
	p.document.Problems = nil
	if _, _, err = p.Cells(refuse("not today")); err == nil || strings.Count(err.Error(), "not today") != 2 || !strings.Contains(err.Error(), " cells, such as s / ") {
		t.Errorf("of no place: %v", err)
	}
}

// TestCellsTwice: what a list has twice makes one cell.
func TestCellsTwice(t *testing.T) {
	_, cells := plan(t, "targets: [{name: s, driver: sim, isolations: [serializable, Serializable]}]\nworkloads: [{workload: mini}]\nfaults: [none, none]\n")
	if len(cells) != 1 {
		t.Errorf("%d cells", len(cells))
	}
}

// TestSimPaused: sessions of sim are paused without a server; a server of its own, with functions to stop at, it has not.
func TestSimPaused(t *testing.T) {
	p, err := Read("p.yaml", []byte("targets:\n  - {name: s, driver: sim, isolations: [serializable]}\nworkloads:\n  - workload: mini\nfaults: [\"1s pause backends 2ms every 4ms\", \"1s pause 2ms\", \"1s kill\", \"1s pause backends 2ms at f\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	cells, left, err := p.Cells(func([]string) error { return nil })
	if err != nil || len(cells) != 1 || !strings.Contains(cells[0].Fault, "backends") || len(left) != 3 {
		t.Errorf("%d cells, left out %v, %v", len(cells), left, err)
	}
}

// TestSecret: a password is neither among the arguments nor part of what identifies a cell.
func TestSecret(t *testing.T) {
	cell := func(dsn string) *Cell {
		return &Cell{Target: &Target{Name: "a", Driver: "postgres", DSN: List{dsn}}, Isolation: "serializable", Workload: &Workload{Workload: "mini"}, Fault: noFault, Levels: List{"ser"}, Run: time.Second}
	}
	with, without := cell("postgres://me:hush@h/d"), cell("postgres://me@h/d")
	if args := strings.Join(with.arguments(Settings{}, false), " "); strings.Contains(args, "hush") {
		t.Errorf("the password is among the arguments: %s", args)
	}
	if args := strings.Join(without.arguments(Settings{}, false), " "); !strings.Contains(args, "--dsn postgres://me@h/d") {
		t.Errorf("a DSN without a password is not among the arguments: %s", args)
	}
	if with.digest() != cell("postgres://me:other@h/d").digest() {
		t.Error("another password changes the cell")
	}
}

// TestValues: draws stay within what the plan allows, reach both ends, and near draws are near.
func TestValues(t *testing.T) {
	seed := randhist.Seed(t, 1)
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	read := func(text string) Values {
		var v Values
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, text := range []string{"3..5", "0..2", "-2..1", "1..1"} {
		v, seen := read(text), map[string]int{}
		for range 3000 {
			n, err := strconv.ParseInt(v.draw(r), 10, 64)
			if err != nil || n < v.Low || n > v.High {
				t.Fatalf("%s: drew %d, %v", text, n, err)
			}
			seen[strconv.FormatInt(n, 10)]++
			if near, _ := strconv.ParseInt(v.near(r, strconv.FormatInt(n, 10)), 10, 64); near < v.Low || near > v.High {
				t.Fatalf("%s: near %d is %d", text, n, near)
			}
		}
		if len(seen) != int(v.High-v.Low+1) {
			t.Errorf("%s: drew only %v", text, seen)
		}
	}
	large := read("10..1000")
	for range 1000 {
		if n, _ := strconv.Atoi(large.near(r, "100")); n < 75 || n > 125 {
			t.Fatalf("near 100 is %d", n)
		}
	}
	list := read("[a, b, c, d]")
	for range 100 {
		if got := list.near(r, "a"); got != "a" && got != "b" {
			t.Fatalf("near a is %s", got)
		}
	}
}

// TestBudget: the night ends at the first of its limits, and what it lasted before counts.
func TestBudget(t *testing.T) {
	began := time.Date(2026, 1, 31, 23, 0, 0, 0, time.Local)
	now := began.Add(time.Hour)
	six := time.Date(2026, 2, 1, 6, 0, 0, 0, time.Local)
	for _, c := range []struct {
		b    Budget
		want time.Time
	}{
		{Budget{}, time.Time{}},
		{Budget{Until: "06:00"}, six},
		{Budget{Until: "23:30"}, began.Add(30 * time.Minute)},
		{Budget{Until: "23:00"}, began.AddDate(0, 0, 1)},
		{Budget{Time: Duration(2 * time.Hour)}, now.Add(90 * time.Minute)},
		{Budget{Time: Duration(20 * time.Hour), Until: "6:00"}, six},
	} {
		if got := c.b.deadline(began, now, 30*time.Minute); !got.Equal(c.want) {
			t.Errorf("%+v: %v, want %v", c.b, got, c.want)
		}
	}
}
