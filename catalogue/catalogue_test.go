package catalogue

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	_ "github.com/isohound/isohound/drivers/badger"
	_ "github.com/isohound/isohound/drivers/mariadb"
	_ "github.com/isohound/isohound/drivers/mongo"
	_ "github.com/isohound/isohound/drivers/postgres"
	_ "github.com/isohound/isohound/workloads/lwt"
	_ "github.com/isohound/isohound/workloads/mini"
	_ "github.com/isohound/isohound/workloads/skew"
)

const good = `name: a
title: t
about: b
sources: [s]
target: {kind: embedded}
driver: badger
isolation: serializable
workload: mini
seed: 1
time: 1s
expect:
  - {level: ser, verdict: satisfied}
`

// files makes a folder of scenarios.
func files(texts map[string]string) fstest.MapFS {
	fs := fstest.MapFS{}
	for name, text := range texts {
		fs[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fs
}

// TestProblems: each mistake is reported with its file and line, and all mistakes of a file at
// once.
func TestProblems(t *testing.T) {
	change := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(good) }
	docker := change("{kind: embedded}", "{kind: docker, image: 'postgres:12.3', containers: [{name: n1, port: 5432, dsn: 'postgres://{addr}/x'}]}", "badger", "postgres")
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"unknown key":      {good + "sesions: 5\n", []string{`a.yaml:13: unknown key "sesions"`}},
		"unknown key deep": {change("satisfied}", "satisfied, anomalie: LostUpdate}"), []string{`a.yaml:12: unknown key "anomalie"`}},
		"twice":            {good + "seed: 2\n", []string{`a.yaml:13: mapping key "seed" already defined at line 9`}},
		"type":             {good + "txns: many\nkeys: [1]\n", []string{"a.yaml:13: \"many\" cannot stand here: expected a whole number", "a.yaml:14: a list cannot stand here: expected a whole number"}},
		"duration":         {change("time: 1s", "time: soon"), []string{`a.yaml:10: expected a time such as 1m30s, not "soon"`}},
		"no YAML":          {"name: [a\n", []string{"a.yaml:1: did not find expected ',' or ']'"}},
		"empty":            {"", []string{"a.yaml: the file is empty"}},
		"two documents":    {good + "---\n" + good, []string{"a.yaml: a file holds one scenario"}},
		"name":             {change("name: a", "name: b"), []string{`a.yaml:1: name: expected "a", the name of the file`}},
		"several at once": {change("badger", "nope", "mini", "nothing", "level: ser", "level: sre", "embedded", "cloud"), []string{
			`a.yaml:5: target: kind must be embedded, local or docker, not "cloud"`, `a.yaml:6: unknown driver "nope"`, `a.yaml:8: unknown workload "nothing"`,
			`a.yaml:12: unknown level "sre"`}},
		"type and sense":     {change("badger", "nope", "time: 1s", "time: 1s\ntxns: x"), []string{"a.yaml:11: \"x\" cannot stand here", `a.yaml:6: unknown driver "nope"`}},
		"isolation":          {change("isolation: serializable", "isolation: chaos"), []string{"a.yaml:7:", `it has "serializable"`}},
		"parameter":          {good + "params: {speed: 9, think: 1ms}\n", []string{`a.yaml:13: speed=9: workload mini has no parameter "speed"`}},
		"value":              {good + "params: {rollback: 200%}\n", []string{"a.yaml:13: workload mini: rollback=200%: expected a percentage"}},
		"distribution":       {good + "dist: normal\n", []string{"a.yaml", "known are uniform"}},
		"anomaly":            {change("satisfied}", "violated, anomaly: LostUpdates}"), []string{`a.yaml:12: no anomaly is called "LostUpdates"`}},
		"refuted":            {change("satisfied}", "violated, refuted: [si, sj]}"), []string{`a.yaml:12: unknown level "sj"`}},
		"verdict":            {change("satisfied}", "vacuous}"), []string{`a.yaml:12: verdict: expected satisfied or violated, not "vacuous"`}},
		"anomaly of none":    {change("satisfied}", "satisfied, anomaly: LostUpdate}"), []string{"a.yaml:12: only what is violated has an anomaly"}},
		"invariant":          {good + "  - {invariant: on call, holds: false}\n", []string{`a.yaml:13: with these parameters workload mini has no invariant "on call"; it has none`}},
		"not checked":        {good + "check: [si]\n", []string{"a.yaml:12: level ser is expected and not among those of check"}},
		"nothing expected":   {change("expect:\n  - {level: ser, verdict: satisfied}\n", ""), []string{"a.yaml: expect is missing"}},
		"tries":              {good + "tries: 3\n", []string{"a.yaml:13: tries: only what must be found"}},
		"faults":             {good + "faults: 2s explode\n", []string{"a.yaml:13: faults: "}},
		"needs":              {strings.NewReplacer("driver: postgres", "driver: fake", "mini", "skew").Replace(docker), []string{"a.yaml:8: workload skew needs tables", "needs predicates"}},
		"kind of driver":     {change("embedded}", "local, start: postgres}"), []string{"a.yaml:5: driver badger and a target of kind local do not go together"}},
		"start":              {change("embedded}", "local, start: oracle}", "badger", "postgres"), []string{`a.yaml:5: target: start must be one of`, `not "oracle"`}},
		"start of a version": {change("embedded}", "local, start: postgres@eighteen}", "badger", "postgres"), []string{`a.yaml:5: target: start must be one of`, `postgres@ and a version such as 18.4, not "postgres@eighteen"`}},
		"version twice":      {change("embedded}", "local, start: postgres@18.4, version: '18.4'}", "badger", "postgres"), []string{"a.yaml:5: target: start names the version already"}},
		"placeholder":        {change("embedded}", "local, start: postgres}", "badger", "postgres") + "dsn: '{2}'\n", []string{"a.yaml:13: dsn: {2} is none of the target's endpoints, {1} to {1}"}},
		"foreign keys":       {change("embedded}", "embedded, image: 'x:1', options: {a: b}}"), []string{"target: options is for targets of kind local", "target: image is for targets of kind docker"}},
		"twin":               {good + "twin: nobody\n", []string{"a.yaml:13: twin: there is no embedded scenario nobody"}},
		"tag":                {strings.ReplaceAll(docker, "postgres:12.3", "postgres:latest"), []string{"a.yaml:5: target: image needs a tag that stays"}},
		"endpoint":           {strings.ReplaceAll(docker, "{addr}", "here"), []string{"a port is published where the dsn has {addr}", "the dsn has {addr} for host and port"}},
		"disturbance": {docker[:strings.Index(docker, "]}\n")] + "], disturb: [{at: 1s, action: burn, node: n7}]}\n" + docker[strings.Index(docker, "]}\n")+3:],
			[]string{`there is no container "n7"`, `action must be disconnect or pause, not "burn"`, "for is missing"}},
	} {
		_, err := Load(files(map[string]string{"a.yaml": tc.text}))
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: lacks %q in\n%v", name, want, err)
			}
		}
		if n := strings.Count(err.Error(), "\n") + 1; len(tc.want) == 1 && n > 1 && name != "distribution" {
			t.Errorf("%s: %d problems:\n%v", name, n, err)
		}
	}
	if _, err := Load(files(map[string]string{"a.yaml": good, "x/a.yaml": good, "b.txt": "s1 r(x,0)\n# expect ser=maybe rc=violated\n# anomaly Nothing\n"})); err == nil ||
		!strings.Contains(err.Error(), "scenario a is in a.yaml, too") || !strings.Contains(err.Error(), "b.txt:2: ser=maybe: expected LEVEL=satisfied") ||
		!strings.Contains(err.Error(), `b.txt:3: no anomaly is called "Nothing"`) || !strings.Contains(err.Error(), "expected a colon") {
		t.Error(err)
	}
	if _, err := Load(files(nil)); err == nil {
		t.Error("no scenarios are a catalogue")
	}
	if c, err := Load(files(map[string]string{"a.yaml": docker})); err != nil || len(c.Scenarios) != 1 {
		t.Error(err)
	}
}

// TestGroups: scenarios that can share a target do. Different versions do not if the version
// selects what is started.
func TestGroups(t *testing.T) {
	target := func(start, version, option string) *Scenario {
		return &Scenario{Target: Target{Kind: Local, Start: start, Version: version, Options: map[string]string{"o": option}}}
	}
	list := []*Scenario{
		target("mariadb", "10.11", "1"), target("mariadb", "11.8", "1"), target("mariadb", "10.11", "2"),
		target("dgraph", "1.1.1", ""), target("dgraph", "25.0.0", ""), target("dgraph", "1.1.1", ""),
		{Target: Target{Kind: Embedded}}, {Target: Target{Kind: Embedded}},
	}
	var sizes []int
	for _, g := range groups(list) {
		sizes = append(sizes, len(g.all))
	}
	if want := []int{2, 1, 2, 1, 1, 1}; !slices.Equal(sizes, want) {
		t.Errorf("groups of %v, want %v", sizes, want)
	}
}
