package results

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/history/native"
)

// WriteExplanation writes the counterexample of an anomaly into the folder dir: a description
// (explanation.txt, which contains text), its history (minimal.txt, and minimal.jsonl if it is
// in memory) and its pictures. Of what the notation of minimal.txt cannot hold it has comments, which say that minimal.jsonl is the
// history to check.
func WriteExplanation(dir string, a *Anomaly, text string) error {
	files := map[string]string{"explanation.txt": text}
	p := a.Picture()
	files["graph.dot"] = explain.DOT(p)
	for name, svg := range map[string]string{"graph.svg": explain.GraphSVG(p), "timeline.svg": explain.TimelineSVG(p)} {
		if svg != "" {
			files[name] = svg
		}
	}
	if c := a.Counterexample; c != nil {
		files["minimal.txt"] = c.History
		if strings.HasPrefix(c.History, "#") && c.Sub != nil {
			files["minimal.txt"] = "# minimal.jsonl is the one to check: it also has what this notation cannot hold.\n" + c.History
		}
		if c.Sub != nil {
			var b bytes.Buffer
			if err := native.WritePlain(&b, c.Sub, "counterexample"); err != nil {
				return err
			}
			files["minimal.jsonl"] = b.String()
		}
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			return errors.WithStack(err)
		}
	}
	return nil
}
