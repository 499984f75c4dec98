package pages

import "testing"

// TestCommand: flags are kept whole, values and all that HTML would take for its own are left as they are.
func TestCommand(t *testing.T) {
	for line, want := range map[string]string{
		"isohound run --dsn 'sim://?off=a-b&rate=1' -p x=a-b": `isohound run <span class="flag">--dsn</span> &#39;sim://?off=a-b&amp;rate=1&#39; <span class="flag">-p</span> x=a-b`,
		"--final-read=false <b>":                              `<span class="flag">--final-read</span>=false &lt;b&gt;`,
		"":                                                    "",
	} {
		if got := string(command(line)); got != want {
			t.Errorf("%q: %s", line, got)
		}
	}
}
