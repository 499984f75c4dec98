package results

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDamagedFiles: an error of a file in the folder of a run names the file, what is wrong and a remedy, and no type of Go.
func TestDamagedFiles(t *testing.T) {
	dir := t.TempDir()
	const again = "; remove it, and isohound report judges the run again, if its history is there"
	const back = "; put back the file that the run wrote"
	for _, c := range []struct{ name, text, want string }{
		{verdictFile, `{}`, "it is an object, not a list" + again},
		{verdictFile, `"satisfied"`, "it is a text, not a list" + again},
		{verdictFile, `[1]`, "it is a number, not an object" + again},
		{verdictFile, `[{"level":5}]`, "level is a number, not a text" + again},
		{verdictFile, `[{"verdict":[]}]`, "verdict is a list, not a text" + again},
		{verdictFile, `[{"verdict":"good"}]`, `unknown verdict "good"` + again},
		{verdictFile, `[{"txns":1.5}]`, "txns is 1.5, not a possible whole number" + again},
		{verdictFile, `[{"certified":"yes"}]`, "certified is a text, not true or false" + again},
		{verdictFile, `[{"check_seconds":true}]`, "check_seconds is true or false, not a number" + again},
		{verdictFile, `[{"anomalies":[{"names":"x"}]}]`, "anomalies.names is a text, not a list" + again},
		{verdictFile, `[{"level"`, "unexpected end of JSON input" + again},
		{statsFile, `[]`, "it is a list, not an object" + back + ", or remove it"},
		{invariantsFile, `{}`, "it is an object, not a list" + back + ", or remove it"},
		{configFile, `{"started":5}`, "a time is not a text" + back},
		{configFile, `{"started":"x"}`, `"x" is not a time such as 2026-11-29T04:31:01Z` + back},
		{configFile, `{"driver":{}}`, "driver is an object, not a text" + back},
	} {
		for _, name := range []string{configFile, statsFile, verdictFile, invariantsFile} {
			_ = os.Remove(filepath.Join(dir, name))
		}
		for _, f := range [][2]string{{configFile, `{"driver":"sim"}`}, {c.name, c.text}} {
			if err := os.WriteFile(filepath.Join(dir, f[0]), []byte(f[1]), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want := filepath.Join(dir, c.name) + " is damaged: " + c.want
		if _, err := Load(dir); err == nil || err.Error() != want {
			t.Errorf("%s %s: %v\nwant %s", c.name, c.text, err, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, WindowVerdicts), []byte("[]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := EachWindow(dir, nil); err == nil || !strings.Contains(err.Error(), "line 1: it is a list, not an object; remove this line") {
		t.Errorf("%v", err)
	}
}
