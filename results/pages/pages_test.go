package pages

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/isohound/isohound/generator"
)

// TestLegend: the legend of a chart stands below it, where it cannot lie on a line.
func TestLegend(t *testing.T) {
	s := generator.Stats{IntervalSeconds: 1, Intervals: make([]generator.IntervalStats, 5), Faults: []generator.Fault{{From: 1, To: 2, What: "kill"}}}
	svg, err := rates(s)
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]float64{}
	for _, m := range regexp.MustCompile(`<text [^>]*y="([^"]*)"[^>]*>([^<]*)</text>`).FindAllStringSubmatch(string(svg), -1) {
		at[m[2]], _ = strconv.ParseFloat(m[1], 64)
	}
	for _, name := range []string{"fault", "committed", "aborted", "unknown"} {
		if at[name] <= at["seconds since the start"] {
			t.Errorf("%s stands at %v: %v", name, at[name], at)
		}
	}
}

// TestLinks: addresses are links, without what stands behind them.
func TestLinks(t *testing.T) {
	for text, want := range map[string]string{
		"It promises si (https://a.org/x-y.html?a=1&b=2#c). So": `It promises si (<a href="https://a.org/x-y.html?a=1&amp;b=2#c">https://a.org/x-y.html?a=1&amp;b=2#c</a>). So`,
		"http://a.org, https://b.org/x/.":                       `<a href="http://a.org">http://a.org</a>, <a href="https://b.org/x/">https://b.org/x/</a>.`,
		`<b> docs/sim.md "javascript:x"`:                        "&lt;b&gt; docs/sim.md &#34;javascript:x&#34;",
		"":                                                      "",
	} {
		if got := string(links(text)); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}

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
