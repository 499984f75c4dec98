package percent

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]float64{"0": 0, "0%": 0, "0.0": 0, "0.5%": 0.5, "1": 1, "1.5": 1.5, "50%": 50, "100": 100} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"0.5": "expected a percentage with its sign, 50% or 0.5%", ".07": "7% or .07%", "0.29": "29% or 0.29%",
		"": "from 0 to 100", "%": "from 0 to 100", "x": "from 0 to 100", "-1": "from 0 to 100", "101%": "from 0 to 100", "NaN": "from 0 to 100", "5%%": "from 0 to 100",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
