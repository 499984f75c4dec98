package results

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDamagedVerdicts: a line that is none is told by its number, with what to do. A torn last line is none.
func TestDamagedVerdicts(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, WindowVerdicts)
	good := `{"path":"windows/000001.jsonl","level":"ser","verdict":"satisfied"}` + "\n"
	for text, want := range map[string]string{
		good + good + `{"pa`:                  "",
		good + "\x00\x00\x00\n" + good:        path + ", line 2: ",
		good + "null\n":                       path + ", line 2: ",
		good + good + good[:20] + "\n" + good: path + ", line 3: ",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		n := 0
		err := EachWindow(dir, func(number, length int, o *Outcome) error { n++; return nil })
		switch {
		case want == "" && (err != nil || n != 2):
			t.Errorf("%q: %v", text, err)
		case want != "" && (err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "; remove this line: isohound check ")):
			t.Errorf("%q: %v", text, err)
		}
	}
}
