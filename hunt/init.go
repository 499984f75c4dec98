package hunt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/servers"
	"github.com/isohound/isohound/workloads"
)

// Starting is where a new plan hunts.
type Starting struct{ Driver, DSN, Server string }

// Draft writes a commented plan. The driver may be left out if the server or the DSN names it; without any of them the
// plan hunts on embedded engines.
func Draft(s Starting) (string, error) {
	var b strings.Builder
	b.WriteString(`# yaml-language-server: $schema=hunt.schema.json
# A plan for isohound hunt. docs/hunt.md describes every key; isohound hunt --schema prints the
# schema for editors (the first line names its file). Run it:  isohound hunt FILE

`)
	if s == (Starting{}) {
		b.WriteString(`targets:
  - name: badger
    driver: badger
  # A planted defect: a hunt that does not find it is broken.
  - name: sim-lost-update
    dsn: sim://?off=first-committer-wins
    isolations: [snapshot isolation]
    workloads: [mini]
  # Databases of your own:
  # - name: postgres
  #   dsn: ${POSTGRES_DSN}        # postgres://me@127.0.0.1/test, taken from the environment
  #   isolations: [serializable, repeatable read]
  # - name: postgres-18
  #   server: postgres@18.4       # a private server for each run, here of an exact version, which is fetched once;
  #                               # also: postgres, postgres-failover, mariadb, galera, firebird (those that are installed), postgres=FOLDER,
  #                               # docker-mongo=mongo:7.0.14 (a container)
  #   faults: [none, "3s kill for 1s", "2s pause backends 5ms every 50ms"]
`)
		b.WriteString(rest("badger", "  # Badger does not find conflicts with rows that a scan did not return.\n  - {target: badger, workload: skew, verdict: any}\n  - {target: badger, workload: scan, verdict: any}\n  - {target: sim-lost-update, verdict: violated, anomaly: LostUpdate}\n"))
		return b.String(), nil
	}
	if s.Driver == "" {
		if s.Driver = drivers.OfScheme(s.DSN); s.Server != "" {
			spec, err := servers.ParseSpec(s.Server)
			if err != nil {
				return "", fmt.Errorf("--server %q: %w", s.Server, err)
			}
			s.Driver = spec.Driver
		}
	}
	if s.Driver == "" {
		what := "a DSN without a scheme"
		if drivers.IsURL(s.DSN) {
			what = drivers.MaskURL(s.DSN)
		}
		return "", fmt.Errorf("no driver takes %s; name one with --driver: %s", what, strings.Join(driverNames(), ", "))
	}
	driver, err := drivers.Find(s.Driver)
	if err != nil {
		return "", err
	}
	info := driver.Info()
	if _, err := info.Address(s.DSN); err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "targets:\n  - name: %s\n    driver: %s\n", s.Driver, s.Driver)
	switch {
	case s.Server != "":
		fmt.Fprintf(&b, "    server: %q\n", s.Server)
	case s.DSN != "" && drivers.MaskDSN(driver, s.DSN) != s.DSN && !info.Embedded:
		b.WriteString("    dsn: ${ISOHOUND_DSN}   # the DSN has a password, which does not belong into a file\n")
	case s.DSN != "":
		fmt.Fprintf(&b, "    dsn: %q\n", s.DSN)
	case !info.Embedded:
		b.WriteString("    dsn: ${ISOHOUND_DSN}\n")
	}
	b.WriteString("    isolations:\n")
	for _, iso := range info.Isolations {
		off, promise := "", iso.Promises
		switch {
		case iso.ByServer:
			promise = "what the server is set to"
		case promise == "":
			off, promise = "# ", iso.Lightweight+" for lightweight transactions"
		}
		fmt.Fprintf(&b, "      %s- %s   # promises %s\n", off, iso.Name, promise)
	}
	if s.Server != "" {
		backends := ""
		if s.Driver == "postgres" {
			backends = `, "2s pause backends 5ms every 50ms"`
		}
		fmt.Fprintf(&b, "    faults: [none, \"3s kill for 1s\"%s]\n", backends)
	}
	b.WriteString(rest(s.Driver, ""))
	return b.String(), nil
}

// rest is the plan below its targets.
func rest(driver, expect string) string {
	var b strings.Builder
	b.WriteString("\nworkloads:\n")
	info := drivers.Info{}
	if d, err := drivers.Find(driver); err == nil {
		info = d.Info()
	}
	for _, w := range []struct{ name, text string }{
		{"mini", "    sessions: [10, 20]\n    keys: 10..200            # a range: drawn for each run\n    dist: [uniform, zipfian]\n"},
		{"general", "    keys: 20..500\n"},
		{"skew", ""}, {"scan", ""}, {"append", ""},
	} {
		spec, err := workloads.Find(w.name)
		if err != nil {
			continue
		}
		off := ""
		for _, need := range needs(&Workload{Workload: w.name}) {
			if !slices.Contains(info.Can, need) {
				off = "# "
			}
		}
		fmt.Fprintf(&b, "  %s- workload: %-10s   # %s\n", off, w.name, spec.Summary)
		for line := range strings.Lines(w.text) {
			b.WriteString("  " + off + strings.TrimPrefix(line, "  "))
		}
	}
	b.WriteString(`# levels: [claimed]          # claimed is what the isolation promises; [claimed, ser] also checks ser

budget:
  run: 10s                   # how long one run is recorded
  # time: 8h                 # without time, runs or until, every cell is run once
  # runs: 1000
  # until: "06:00"

`)
	if expect == "" {
		b.WriteString("# What is expected where it is not that promised levels are satisfied:\n# expect:\n#   - {isolation: read committed, level: si, verdict: any}\n")
	} else {
		b.WriteString("# What is expected where it is not that promised levels are satisfied:\nexpect:\n" + expect)
	}
	b.WriteString(`
chooser: bandit              # how values are drawn: bandit (by what runs yielded), random, grid
keep: violated               # which folders stay: violated (all but those of satisfied runs), reports, all
repeats: 3                   # how often a violation is repeated with its seed, and then near it
shrink: {runs: 60, time: 10m, tries: 3}   # what is spent to find a smaller workload for a violation
`)
	return b.String()
}
