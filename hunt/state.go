package hunt

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pkg/errors"
	_ "modernc.org/sqlite" // the index is a SQLite file

	"github.com/isohound/isohound/checker/nearness"
)

// Files in the folder of a hunt.
const (
	IndexFile   = "hunt.db"
	PageFile    = "index.html"
	SummaryFile = "summary.md"
	JUnitFile   = "junit.xml"
	LockFile    = "hunt.lock"
	runsFolder  = "runs"
)

// indexVersion is the version of the tables.
const indexVersion = 2

const tables = `
CREATE TABLE nights (
  id INTEGER PRIMARY KEY, began INTEGER NOT NULL, ended INTEGER, spent REAL NOT NULL, seed INTEGER NOT NULL,
  version TEXT NOT NULL, code INTEGER
);
CREATE TABLE runs (
  id INTEGER PRIMARY KEY, night INTEGER NOT NULL REFERENCES nights, cell TEXT NOT NULL, target TEXT NOT NULL, isolation TEXT NOT NULL,
  workload TEXT NOT NULL, fault TEXT NOT NULL, digest TEXT NOT NULL, version TEXT NOT NULL, folder TEXT NOT NULL, kept INTEGER NOT NULL,
  settings TEXT NOT NULL, why TEXT NOT NULL, repeats INTEGER, state TEXT NOT NULL, began INTEGER NOT NULL, took REAL NOT NULL DEFAULT 0,
  server TEXT NOT NULL DEFAULT '', command TEXT NOT NULL DEFAULT '', commits INTEGER NOT NULL DEFAULT 0, aborts INTEGER NOT NULL DEFAULT 0,
  early TEXT NOT NULL DEFAULT '', message TEXT NOT NULL DEFAULT '', code INTEGER NOT NULL DEFAULT 0,
  nearness TEXT NOT NULL DEFAULT ''
);
CREATE INDEX runs_by_night ON runs (night, cell);
CREATE INDEX runs_by_cell ON runs (cell, id);
CREATE INDEX runs_by_state ON runs (state);
CREATE TABLE verdicts (
  run INTEGER NOT NULL REFERENCES runs, level TEXT NOT NULL, verdict TEXT NOT NULL, promised INTEGER, anomalies TEXT NOT NULL, reason TEXT NOT NULL
);
CREATE INDEX verdicts_by_run ON verdicts (run);
CREATE TABLE findings (
  run INTEGER NOT NULL REFERENCES runs, level TEXT NOT NULL, promised INTEGER, name TEXT NOT NULL, names TEXT NOT NULL, edges TEXT NOT NULL,
  text TEXT NOT NULL, txns INTEGER NOT NULL
);
CREATE INDEX findings_by_run ON findings (run);
`

// States of a run.
const (
	recording = "recording"
	recorded  = "recorded" // and not judged yet
	judged    = "judged"
	failed    = "failed" // it could not be recorded or judged
	lost      = "lost"   // isohound was killed before anything was recorded
)

// State is the index of the runs of all nights.
type State struct {
	db  *sql.DB
	dir string
}

// Open opens the index in a folder, and makes it if it is not there and create is set.
func Open(dir string, create bool) (*State, error) {
	path := filepath.Join(dir, IndexFile)
	if _, err := os.Stat(path); err != nil && !create {
		return nil, errors.Wrapf(err, "%s holds no hunt", dir)
	}
	// Every commit reaches the disk, since the process may be killed at any moment.
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(20000)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_txlock=immediate")
	if err != nil {
		return nil, errors.Wrap(err, path)
	}
	db.SetMaxOpenConns(1)
	s := &State{db: db, dir: dir}
	if err := s.prepare(); err != nil {
		db.Close()
		return nil, errors.Wrap(err, path)
	}
	return s, nil
}

// Close closes the index.
func (s *State) Close() error { return s.db.Close() }

func (s *State) prepare() error {
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var version int
	if err := tx.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	switch version {
	case indexVersion:
		return nil
	case 0:
	case 1: // of a version without nearness
		if _, err := tx.Exec("ALTER TABLE runs ADD COLUMN nearness TEXT NOT NULL DEFAULT ''; PRAGMA user_version = 2"); err != nil {
			return err
		}
		return tx.Commit()
	default:
		return errors.Errorf("the index has version %d, which this isohound does not know; it knows %d", version, indexVersion)
	}
	if _, err := tx.Exec(tables + fmt.Sprintf("PRAGMA user_version = %d", indexVersion)); err != nil {
		return err
	}
	return tx.Commit()
}

// Night is one hunt.
type Night struct {
	ID    int64
	Began time.Time
	Ended time.Time // zero if it goes on, or was interrupted
	// Spent is how long it lasted, without the time between an interruption and the next start.
	Spent   time.Duration
	Seed    int64
	Version string
	Code    int // the exit code, -1 if there is none yet
}

// latest is the latest night, nil if there is none.
func (s *State) latest() (*Night, error) {
	all, err := s.Nights(1)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

// Nights are the latest nights, at most so many, the latest first.
func (s *State) Nights(limit int) ([]Night, error) {
	rows, err := s.db.Query("SELECT id, began, coalesce(ended, 0), spent, seed, version, coalesce(code, -1) FROM nights ORDER BY id DESC LIMIT ?", limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Night
	for rows.Next() {
		var n Night
		var began, ended int64
		var spent float64
		if err := rows.Scan(&n.ID, &began, &ended, &spent, &n.Seed, &n.Version, &n.Code); err != nil {
			return nil, err
		}
		n.Began, n.Spent = time.UnixMilli(began), time.Duration(spent*float64(time.Second))
		if ended > 0 {
			n.Ended = time.UnixMilli(ended)
		}
		out = append(out, n)
	}
	return out, rows.Err()
}

// begin begins a night.
func (s *State) begin(seed int64, version string) (*Night, error) {
	n := &Night{Began: time.Now(), Seed: seed, Version: version, Code: -1}
	r, err := s.db.Exec("INSERT INTO nights (began, spent, seed, version) VALUES (?, 0, ?, ?)", n.Began.UnixMilli(), seed, version)
	if err != nil {
		return nil, err
	}
	n.ID, err = r.LastInsertId()
	return n, err
}

// spend records how long a night has lasted.
func (s *State) spend(night int64, spent time.Duration) error {
	_, err := s.db.Exec("UPDATE nights SET spent = ? WHERE id = ?", spent.Seconds(), night)
	return err
}

// end ends a night.
func (s *State) end(night int64, code int) error {
	_, err := s.db.Exec("UPDATE nights SET ended = ?, code = ? WHERE id = ?", time.Now().UnixMilli(), code, night)
	return err
}

// Run is a run in the index.
type Run struct {
	ID, Night                                int64
	Cell, Target, Isolation, Workload, Fault string
	Digest, Version                          string
	Folder                                   string // below the folder of the hunt, with slashes
	Kept                                     bool   // the folder is there
	Settings                                 Settings
	Why                                      string
	Repeats                                  int64 // the run that this one repeats, or 0
	State                                    string
	Began                                    time.Time
	Took                                     time.Duration // recording and judging
	Server, Command                          string
	Commits, Aborts                          int64
	Early                                    string // why it ended before its time
	Message                                  string // why it failed
	Code                                     int
	Verdicts                                 []Verdict
	Findings                                 []Finding
	Nearness                                 *nearness.Nearness // nil if it was not measured
}

// Verdict is a run's verdict at one level, or on an invariant.
type Verdict struct {
	Level, Verdict    string
	Promised          *bool
	Anomalies, Reason string
}

// Finding is an anomaly of a run.
type Finding struct {
	Level    string
	Promised *bool
	Name     string
	Names    []string
	// Edges are the kinds of the cycle's edges, from the one that makes the word the smallest.
	Edges, Text string
	Txns        int
}

// add enters a run that begins.
func (s *State) add(r *Run) error {
	settings, err := json.Marshal(r.Settings)
	if err != nil {
		return err
	}
	var repeats any
	if r.Repeats != 0 {
		repeats = r.Repeats
	}
	got, err := s.db.Exec(`INSERT INTO runs (night, cell, target, isolation, workload, fault, digest, version, folder, kept, settings, why, repeats, state, began)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?)`, r.Night, r.Cell, r.Target, r.Isolation, r.Workload, r.Fault, r.Digest, r.Version, "", string(settings), r.Why, repeats, recording, r.Began.UnixMilli())
	if err != nil {
		return err
	}
	if r.ID, err = got.LastInsertId(); err != nil {
		return err
	}
	r.State, r.Kept = recording, true
	return nil
}

// place records the folder of a run.
func (s *State) place(r *Run) error {
	_, err := s.db.Exec("UPDATE runs SET folder = ? WHERE id = ?", r.Folder, r.ID)
	return err
}

// set records the state of a run that is not judged.
func (s *State) set(r *Run) error {
	_, err := s.db.Exec("UPDATE runs SET state = ?, took = ?, early = ?, message = ?, code = ?, kept = ? WHERE id = ?", r.State, r.Took.Seconds(), r.Early, r.Message, r.Code, r.Kept, r.ID)
	return err
}

// enter records the verdicts of a run, all or nothing.
func (s *State) enter(r *Run) error {
	near := ""
	if r.Nearness != nil {
		b, err := json.Marshal(r.Nearness)
		if err != nil {
			return err
		}
		near = string(b)
	}
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, table := range []string{"verdicts", "findings"} {
		if _, err := tx.Exec("DELETE FROM "+table+" WHERE run = ?", r.ID); err != nil {
			return err
		}
	}
	for _, v := range r.Verdicts {
		if _, err := tx.Exec("INSERT INTO verdicts VALUES (?, ?, ?, ?, ?, ?)", r.ID, v.Level, v.Verdict, v.Promised, v.Anomalies, v.Reason); err != nil {
			return err
		}
	}
	for _, f := range r.Findings {
		names, err := json.Marshal(f.Names)
		if err != nil {
			return err
		}
		if _, err := tx.Exec("INSERT INTO findings VALUES (?, ?, ?, ?, ?, ?, ?, ?)", r.ID, f.Level, f.Promised, f.Name, string(names), f.Edges, f.Text, f.Txns); err != nil {
			return err
		}
	}
	if _, err := tx.Exec("UPDATE runs SET state = ?, took = ?, early = ?, message = ?, code = ?, server = ?, command = ?, commits = ?, aborts = ?, kept = ?, nearness = ? WHERE id = ?",
		r.State, r.Took.Seconds(), r.Early, r.Message, r.Code, r.Server, r.Command, r.Commits, r.Aborts, r.Kept, near, r.ID); err != nil {
		return err
	}
	return tx.Commit()
}
