package results

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/results/script"
)

const (
	// maxHistory is the size in bytes up to which a whole history is copied into a reproduction
	// folder.
	maxHistory = 64 << 20
	// maxLog is how many bytes are kept of an attached file, at its end.
	maxLog = 16 << 20

	readmeFile = "README.md"
	repeatFile = "repeat.sh"
	serverFile = "server.txt"
	logsFolder = "logs"
)

// ScenarioFolder is the folder of a reproduction that holds the scenario.
const ScenarioFolder = "scenario"

//go:embed repro.md
var readmeText string

// readmeTemplate is parsed when needed.
var readmeTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New(readmeFile).Funcs(template.FuncMap{
		"commas": func(s []string) string { return strings.Join(s, ",") },
		"titles": titles,
		"plain":  plain,
		"fenced": func(s string) string { return fenced("", s) },
	}).Parse(readmeText))
})

// Repro is what a reproduction folder needs in addition to the run's files.
type Repro struct {
	// Program is what repeats the run: isohound, or a program of somebody's own with its command line, whose workload or
	// driver isohound may not have. It is isohound if it is empty.
	Program string
	// Command is the command that repeats the run, without the DSN.
	Command string
	// DSN says where the database was, with the password masked, a line for each endpoint. It is
	// empty if the command needs none. The script takes the real DSN from the environment.
	DSN []string
	// Attach are files to copy into the folder, such as logs of servers.
	Attach []string
	// WorkloadWord is the word of Command that names the workload.
	WorkloadWord string
	// Scenario is the run as a scenario, and ScenarioFile where it goes in the folder. Both are empty if the run is none
	// that a scenario can repeat.
	Scenario     []byte
	ScenarioFile string

	workload []byte // the file that describes the workload, if there is one
}

// found is a finding as described in the folder's README.
type found struct {
	finding
	File    string // the name of the minimal history's file; empty if there is none
	Text    string // the content of that file, or what it says for people
	Listing bool   // Text is for people
	Words   []string
	// Spec and SQL are the names of files with the transactions as SQL; empty if there are none. Shows says that in the order
	// of the files each read returns what was recorded.
	Spec, SQL string
	Shows     bool
}

// SaveRepro makes the reproduction folder of a run in dir, which holds the history. missing
// lists the files that could not be attached, and why.
func SaveRepro(dir string, r *Run, p *Repro) (missing []string, err error) {
	out := filepath.Join(dir, ReproFolder)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, errors.WithStack(err)
	}
	if p.workload, err = ReadFile(filepath.Join(dir, WorkloadFile)); err != nil && !os.IsNotExist(err) {
		return nil, errors.WithStack(err)
	}
	all, err := saveMinimal(out, r)
	if err != nil {
		return nil, err
	}
	whole, err := keepHistory(dir, out, r.Config.History)
	if err != nil {
		return nil, err
	}
	for name, data := range map[string]any{configFile: r.Config, verdictFile: r.Outcomes} {
		b, err := json.MarshalIndent(data, "", "  ")
		if err != nil {
			return nil, errors.Wrap(err, name)
		}
		if err := write(out, name, append(b, '\n')); err != nil {
			return nil, err
		}
	}
	if err := write(out, repeatFile, []byte(p.script(r))); err != nil {
		return nil, err
	}
	if err := os.Chmod(filepath.Join(out, repeatFile), 0o755); err != nil {
		return nil, errors.WithStack(err)
	}
	if p.workload != nil {
		if err := write(out, WorkloadFile, p.workload); err != nil {
			return nil, err
		}
	}
	if p.Scenario != nil {
		file := filepath.Join(out, p.ScenarioFile)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, errors.WithStack(err)
		}
		if err := write(filepath.Dir(file), filepath.Base(file), p.Scenario); err != nil {
			return nil, err
		}
	}
	if err := write(out, serverFile, []byte(serverText(&r.Config))); err != nil {
		return nil, err
	}
	logs, missing := p.attach(out)
	var b bytes.Buffer
	err = readmeTemplate().Execute(&b, map[string]any{
		"Run": r, "Findings": all, "Broken": r.Broken(), "Whole": whole, "File": filepath.Base(r.Config.History), "Sentence": sentence(r), "Promise": r.Promise(), "Notes": notes(r),
		"Assumed": slices.ContainsFunc(r.Outcomes, func(o Outcome) bool { return o.Assumes != nil }),
		"Program": p.program(), "DSN": p.DSN, "Logs": logs, "Scenario": p.ScenarioFile, "Limit": maxHistory >> 20,
		"Versions": legendOf(findings(r.Outcomes)).Versions,
		"Notation": slices.ContainsFunc(all, func(f found) bool { return f.Text != "" && !f.Listing }),
		"Listing":  slices.ContainsFunc(all, func(f found) bool { return f.Text != "" && f.Listing }),
	})
	if err != nil {
		return nil, errors.Wrap(err, readmeFile)
	}
	return missing, write(out, readmeFile, b.Bytes())
}

// saveMinimal writes the minimal histories.
func saveMinimal(out string, r *Run) ([]found, error) {
	var all []found
	for n, f := range findings(r.Outcomes) {
		one := found{finding: f, Words: strings.Split(f.Anomaly.Text, "\n")}
		if f.part != nil {
			name := "minimal"
			if n > 0 {
				name += fmt.Sprintf("-%d", n+1)
			}
			file, text, err := portable(f.part, name)
			if err == nil {
				err = write(out, file, text)
			}
			if err != nil {
				return nil, err
			}
			one.File = file
			if err := one.script(out, name, r, f.part, f.whole); err != nil {
				return nil, err
			}
			shown := string(text)
			if one.Listing = !strings.HasSuffix(file, ".txt"); one.Listing {
				shown = explain.Listing(f.part)
			}
			if strings.Count(shown, "\n") <= 3*maxShown {
				one.Text = shown
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// script writes the transactions of a minimal history as SQL, if the database speaks it.
func (f *found) script(out, name string, r *Run, part, whole *history.History) error {
	db := script.For(r.Config.Driver, r.Config.Server)
	if db == nil {
		return nil
	}
	s := script.New(part, whole, db, r.Config.Isolation, r.Config.Promises)
	title := fmt.Sprintf("%s on %s, %s: the transactions of %s", f.Name, r.Config.Server, r.Config.Isolation, f.File)
	f.SQL, f.Shows = name+".sql", s.Shows()
	if err := write(out, f.SQL, []byte(s.SQL(title))); err != nil || !db.Spec {
		return err
	}
	text := s.Spec(title)
	if text == "" {
		return nil
	}
	f.Spec = name + ".spec"
	return write(out, f.Spec, []byte(text))
}

// needsDSN is the part of repeat.sh that refuses to run without a database, with the exit code of a wrong command line. sh itself would
// end with 2, which means unknown.
const needsDSN = `where=${ISOHOUND_DSN-}
for word; do
	case $word in
	--dsn | --dsn=* | --server | --server=*) where=given ;;
	esac
done
if [ -z "$where" ]; then
	echo "$0: set ISOHOUND_DSN to where the database is, or give --dsn; a comment in this script says where it was" >&2
	exit 64
fi
`

// untilViolated is the end of repeat.sh. Exit codes 0, 2 and 3 are those of runs that are not violated.
const untilViolated = `until=
if [ "${1-}" = --until ]; then
	if [ "${2-}" != violated ]; then
		echo "$0: expected --until violated" >&2
		exit 64
	fi
	until=violated
	shift 2
fi
set -- %[1]s "$@"
if [ -z "$until" ]; then
	exec "${ISOHOUND:-%[2]s}" "$@"
fi
trap 'kill "$pid"; wait "$pid"; exit $?' INT TERM
while :; do
	code=0
	"${ISOHOUND:-%[2]s}" "$@" --expect satisfied &
	pid=$!
	wait "$pid" || code=$?
	case $code in
	0 | 2 | 3) ;;
	*) exit $code ;;
	esac
done
`

// program is a name that a shell takes as it is, also between double quotes.
func (p *Repro) program() string {
	if p.Program == "" || strings.ContainsAny(p.Program, "\"$`\\}\n") {
		return "isohound"
	}
	return p.Program
}

// script returns the content of repeat.sh.
func (p *Repro) script(r *Run) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#!/bin/sh\n# Runs the workload again that was checked for %s, with the same seed, %d.\n", strings.Join(r.Config.Levels, ", "), r.Config.Seed)
	b.WriteString("# With --until violated as the first arguments it runs until the run is violated; each run has a folder of its own in runs/.\n")
	fmt.Fprintf(&b, "# Further arguments are passed on, --out FOLDER say. ISOHOUND is the program, if not %s.\n", p.program())
	if alone := r.Config.Alone(); alone != "" {
		fmt.Fprintf(&b, "# %s\n", alone)
	}
	b.WriteString("set -eu\n")
	if len(p.DSN) > 0 {
		b.WriteString("# Where the database is comes from ISOHOUND_DSN, one endpoint a line, or from --dsn. It was:\n")
		for _, dsn := range p.DSN {
			fmt.Fprintf(&b, "#   %s\n", strings.ReplaceAll(dsn, "\n", " "))
		}
		b.WriteString(needsDSN)
	}
	command := p.Command
	if p.workload != nil {
		command = strings.Replace(command, p.WorkloadWord, `"file=$(dirname "$0")/`+WorkloadFile+`"`, 1)
	}
	fmt.Fprintf(&b, untilViolated, command, p.program())
	return b.String()
}

func serverText(c *Config) string {
	var b strings.Builder
	fmt.Fprintf(&b, "server: %s\ndriver: %s\nisolation requested: %s\n", c.Server, c.Driver, c.Isolation)
	if c.Promises != "" {
		fmt.Fprintf(&b, "which promises: %s\n", c.Promises)
		if c.PromisedBy != "" {
			fmt.Fprintf(&b, "as documented in: %s\n", c.PromisedBy)
		}
	}
	for n, node := range c.Nodes {
		fmt.Fprintf(&b, "node %d: %s\n", n+1, node)
	}
	for _, note := range c.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	fmt.Fprintf(&b, "isohound: %s\n", c.Version)
	return b.String()
}
