package sqlreplay

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Tester returns the path of PostgreSQL's isolationtester, or "" if this machine has none. Debian has it in
// postgresql-client-NN. It needs a server of about its own version.
func Tester() string {
	if path, err := exec.LookPath("isolationtester"); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/lib/pgxs/src/test/isolation/isolationtester")
	for _, path := range found {
		if strings.HasPrefix(path, "/usr/lib/postgresql/15/") {
			return path
		}
	}
	return strings.Join(found[:min(len(found), 1)], "")
}

var (
	specStep = regexp.MustCompile(`(?m)^step (\S+) \{ ((?s:.*?)); \}(?: # (?:waits(?:; then )?)?(returned )?(.*))?$`)
	ranStep  = regexp.MustCompile(`^step (\S+): (.*)$`)
)

// Spec executes a specification with isolationtester.
func Spec(ctx context.Context, tester, dsn, spec string) (*Result, error) {
	c := exec.CommandContext(ctx, tester, dsn)
	c.Stdin = strings.NewReader(spec)
	b, err := c.CombinedOutput()
	out := string(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	r := &Result{Claims: claims(spec)}
	steps := map[string]*statement{}
	for _, m := range specStep.FindAllStringSubmatch(spec, -1) {
		steps[m[1]] = &statement{sql: m[1] + ": " + m[2], returned: m[4], checked: m[3] != ""}
	}
	var now *statement
	rows := false
	for line := range strings.SplitSeq(out, "\n") {
		switch m := ranStep.FindStringSubmatch(line); {
		case m != nil:
			now, rows = steps[m[1]], false
			if strings.HasSuffix(m[2], "<waiting ...>") {
				r.Waited = append(r.Waited, m[1])
			}
		case now == nil:
		case strings.HasPrefix(line, "ERROR: "):
			now.err = fmt.Errorf("%s", line)
		case strings.Trim(line, "-+") == "" && line != "":
			rows = true
		case strings.HasPrefix(line, "(") && strings.HasSuffix(line, " rows)") || line == "(1 row)":
			rows = false
		case rows:
			var texts []string
			for _, v := range strings.Split(line, "|") {
				texts = append(texts, strings.TrimSpace(v))
			}
			now.rows = append(now.rows, texts)
		}
	}
	for _, s := range steps {
		if s.checked {
			r.Reads++
		}
		if wrong := s.wrong(); wrong != "" {
			r.Wrong = append(r.Wrong, wrong)
		}
	}
	return r, nil
}
