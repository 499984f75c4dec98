package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder records the failures of a test.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// TestProblems: every defect of a page is detected.
func TestProblems(t *testing.T) {
	b := Start(t)
	for name, tc := range map[string]struct{ body, want string }{
		"wide":      {`<p style="width:3000px">wide</p>`, "pixels wide in a window of"},
		"faint":     {`<p style="color:#999;background:#fff">hardly to be read</p>`, "faint: P hardly to be read"},
		"console":   {`<script>console.error("oh no")</script>`, "oh no"},
		"exception": {`<script>undefinedFunction()</script>`, "undefinedFunction is not defined"},
		"request":   {`<img src="http://127.0.0.1:1/x.png">`, "request of http://127.0.0.1:1/x.png"},
		"empty":     {`<svg width="10" height="10"></svg>`, "picture 1 is 10 by 10 pixels"},
		"overlap":   {`<svg width="100" height="100"><text x="10" y="50">first</text><text x="15" y="52">second</text></svg>`, "covers each other: first and second"},
		"cut":       {`<svg width="100" height="100"><text x="90" y="50">a long text</text></svg>`, "cut: a long text"},
		"squeezed":  {`<p style="width:12px;overflow-wrap:anywhere">a paragraph</p>`, "squeezed: a paragraph"},
		"tiny":      {`<svg width="100" height="100"><text x="10" y="50" font-size="4">small</text></svg>`, "tiny: small"},
	} {
		path := filepath.Join(t.TempDir(), name+".html")
		if err := os.WriteFile(path, []byte("<!DOCTYPE html><body style='background:#fff'>"+tc.body), 0o644); err != nil {
			t.Fatal(err)
		}
		r := &recorder{TB: t}
		b.Look(r, path, View{Width: 1200})
		if !strings.Contains(strings.Join(r.errors, "\n"), tc.want) {
			t.Errorf("%s: noticed %q, want %q", name, r.errors, tc.want)
		}
	}
}
