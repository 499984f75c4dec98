package hunt

import (
	"database/sql"
	"encoding/json"
	"regexp"
	"slices"
	"time"

	"github.com/pkg/errors"
)

const runColumns = `id, night, cell, target, isolation, workload, fault, digest, version, folder, kept, settings, why, coalesce(repeats, 0), state, began, took,
	server, command, commits, aborts, early, message, code, nearness`

// runs returns the runs that a condition selects, by id, with their verdicts, and with their findings if these are
// asked for.
func (s *State) runs(findings bool, condition string, args ...any) ([]*Run, error) {
	rows, err := s.db.Query("SELECT "+runColumns+" FROM runs WHERE "+condition+" ORDER BY id", args...)
	if err != nil {
		return nil, err
	}
	var out []*Run
	by := map[int64]*Run{}
	err = each(rows, func() error {
		r := &Run{}
		var settings, near string
		var began int64
		var took float64
		if err := rows.Scan(&r.ID, &r.Night, &r.Cell, &r.Target, &r.Isolation, &r.Workload, &r.Fault, &r.Digest, &r.Version, &r.Folder, &r.Kept, &settings, &r.Why, &r.Repeats,
			&r.State, &began, &took, &r.Server, &r.Command, &r.Commits, &r.Aborts, &r.Early, &r.Message, &r.Code, &near); err != nil {
			return err
		}
		r.Began, r.Took = time.UnixMilli(began), time.Duration(took*float64(time.Second))
		out = append(out, r)
		by[r.ID] = r
		if near != "" {
			if err := json.Unmarshal([]byte(near), &r.Nearness); err != nil {
				return errors.Wrapf(err, "nearness of run %d", r.ID)
			}
		}
		return errors.Wrapf(json.Unmarshal([]byte(settings), &r.Settings), "settings of run %d", r.ID)
	})
	if err != nil {
		return nil, err
	}
	if rows, err = s.db.Query("SELECT run, level, verdict, promised, anomalies, reason FROM verdicts WHERE run IN (SELECT id FROM runs WHERE "+condition+") ORDER BY rowid", args...); err != nil {
		return nil, err
	}
	err = each(rows, func() error {
		var id int64
		var v Verdict
		if err := rows.Scan(&id, &v.Level, &v.Verdict, &v.Promised, &v.Anomalies, &v.Reason); err != nil {
			return err
		}
		by[id].Verdicts = append(by[id].Verdicts, v)
		return nil
	})
	if err != nil || !findings {
		return out, err
	}
	if rows, err = s.db.Query("SELECT run, level, promised, name, names, edges, text, txns FROM findings WHERE run IN (SELECT id FROM runs WHERE "+condition+") ORDER BY rowid", args...); err != nil {
		return nil, err
	}
	err = each(rows, func() error {
		var id int64
		var f Finding
		var names string
		if err := rows.Scan(&id, &f.Level, &f.Promised, &f.Name, &names, &f.Edges, &f.Text, &f.Txns); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(names), &f.Names); err != nil {
			return errors.Wrapf(err, "findings of run %d", id)
		}
		by[id].Findings = append(by[id].Findings, f)
		return nil
	})
	return out, err
}

var driverFlag = regexp.MustCompile(` --driver (\S+)`)

// DriverOf is the driver of the latest run of a target that was recorded, "" if there is none.
func (s *State) DriverOf(target string) (string, error) {
	var command string
	err := s.db.QueryRow("SELECT command FROM runs WHERE target = ? AND command != '' ORDER BY id DESC LIMIT 1", target).Scan(&command)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if m := driverFlag.FindStringSubmatch(command); m != nil {
		return m[1], err
	}
	return "", err
}

func each(rows *sql.Rows, row func() error) error {
	defer rows.Close()
	for rows.Next() {
		if err := row(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// ofNight are the runs of a night.
func (s *State) ofNight(night int64) ([]*Run, error) { return s.runs(true, "night = ?", night) }

// begunIn are the runs of a night without their findings.
func (s *State) begunIn(night int64) ([]*Run, error) { return s.runs(false, "night = ?", night) }

// maxBefore bounds the runs of earlier nights from which the bandit learns: what they yielded on an older server, or
// another machine, says less and less.
const maxBefore = 1000

// runsBefore are the latest runs of earlier nights, without their findings.
func (s *State) runsBefore(night int64) ([]*Run, error) {
	return s.runs(false, "id IN (SELECT id FROM runs WHERE night < ? ORDER BY id DESC LIMIT ?)", night, maxBefore)
}

// pending are the runs that a process has left: being recorded, or recorded and not judged.
func (s *State) pending() ([]*Run, error) {
	return s.runs(false, "state IN (?, ?)", recording, recorded)
}

// Past is what is known of a cell from before a night.
type Past struct {
	Runs          int // that were judged
	server        string
	digest        string
	version       string
	found         bool // a violation in the last two nights
	seconds       float64
	commits       int64
	Night         int64 // the latest with a run
	lastViolation int64 // the latest night with a violation, or 0
}

// pastOf returns what is known of every cell from before a night.
func (s *State) pastOf(night int64) (map[string]*Past, error) {
	out := map[string]*Past{}
	rows, err := s.db.Query(`SELECT cell, count(*), avg(took), sum(commits), max(night) FROM runs WHERE night < ? AND state = ? AND why NOT IN (?, ?) GROUP BY cell`, night, judged, whyShrink, whyConfirm)
	if err != nil {
		return nil, err
	}
	err = each(rows, func() error {
		var cell string
		p := &Past{}
		if err := rows.Scan(&cell, &p.Runs, &p.seconds, &p.commits, &p.Night); err != nil {
			return err
		}
		out[cell] = p
		return nil
	})
	if err != nil {
		return nil, err
	}
	rows, err = s.db.Query(`SELECT cell, server, digest, version FROM runs WHERE id IN (SELECT max(id) FROM runs WHERE night < ? AND state = ? GROUP BY cell)`, night, judged)
	if err != nil {
		return nil, err
	}
	err = each(rows, func() error {
		var cell, server, digest, version string
		if err := rows.Scan(&cell, &server, &digest, &version); err != nil {
			return err
		}
		out[cell].server, out[cell].digest, out[cell].version = server, digest, version
		return nil
	})
	if err != nil {
		return nil, err
	}
	rows, err = s.db.Query(`SELECT r.cell, max(r.night) FROM runs r JOIN verdicts v ON v.run = r.id WHERE r.night < ? AND v.verdict = 'violated' GROUP BY r.cell`, night)
	if err != nil {
		return nil, err
	}
	err = each(rows, func() error {
		var cell string
		var last int64
		if err := rows.Scan(&cell, &last); err != nil {
			return err
		}
		if p := out[cell]; p != nil {
			p.lastViolation, p.found = last, last >= night-2
		}
		return nil
	})
	return out, err
}

// servers are the servers of each target at its latest run.
func (s *State) servers() (map[string]string, error) {
	rows, err := s.db.Query(`SELECT target, server FROM runs WHERE id IN (SELECT max(id) FROM runs WHERE server <> '' GROUP BY target)`)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	return out, each(rows, func() error {
		var target, server string
		if err := rows.Scan(&target, &server); err != nil {
			return err
		}
		out[target] = server
		return nil
	})
}

// seenBefore says how many runs showed a finding before a night, and in which night the first was.
type seenBefore struct {
	runs  int
	first int64
}

// findingsBefore counts the findings of earlier nights.
func (s *State) findingsBefore(night int64) (map[groupKey]*seenBefore, error) {
	rows, err := s.db.Query(`SELECT r.target, r.isolation, f.name, f.edges, count(DISTINCT r.id), min(r.night)
		FROM findings f JOIN runs r ON r.id = f.run WHERE r.night < ? AND r.why NOT IN (?, ?) GROUP BY 1, 2, 3, 4`, night, whyShrink, whyConfirm)
	if err != nil {
		return nil, err
	}
	out := map[groupKey]*seenBefore{}
	return out, each(rows, func() error {
		var k groupKey
		b := &seenBefore{}
		if err := rows.Scan(&k.target, &k.isolation, &k.name, &k.edges, &b.runs, &b.first); err != nil {
			return err
		}
		out[k] = b
		return nil
	})
}

// trend sums up nights.
func (s *State) trend(p *Plan, cells []*Cell, nights []Night) ([]TrendNight, error) {
	find := finder(cells)
	var out []TrendNight
	most := 1
	for _, n := range nights {
		t := TrendNight{Night: n}
		err := s.db.QueryRow(`SELECT count(*), coalesce(sum(commits), 0), coalesce(sum(early <> ''), 0), coalesce(sum(state = 'failed'), 0) FROM runs WHERE night = ?`, n.ID).
			Scan(&t.Runs, &t.Commits, &t.Early, &t.Failed)
		if err == nil {
			err = s.db.QueryRow(`SELECT coalesce(sum(broken), 0), coalesce(sum(1 - broken), 0) FROM (SELECT max(coalesce(v.promised, 1)) AS broken
				FROM verdicts v JOIN runs r ON r.id = v.run WHERE r.night = ? AND v.verdict = 'violated' GROUP BY r.id)`, n.ID).Scan(&t.Broken, &t.Known)
		}
		var found []*Run
		if err == nil {
			found, err = s.runs(true, "night = ? AND id IN (SELECT run FROM verdicts WHERE verdict = 'violated')", n.ID)
		}
		if err != nil {
			return nil, err
		}
		t.AsExpected = !slices.ContainsFunc(found, func(r *Run) bool {
			c := find(r.Cell)
			if c == nil { // the plan no longer says what is expected of it
				return n.Code < 0 || n.Code == 1
			}
			return !r.shrinks() && p.judgeRun(c, r).Status == Unexpected
		})
		most = max(most, t.Runs)
		out = append(out, t)
	}
	for n := range out {
		out[n].Share = 100 * float64(out[n].Runs) / float64(most)
	}
	return out, nil
}
