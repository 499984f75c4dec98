package results

import (
	"testing"

	"github.com/isohound/isohound/checker/verdict"
)

// TestEmptyWindows: windows without a committed transaction, such as one in which the database hung, or that had just
// begun when the run was killed, decide the verdict of a run only if there are no others.
func TestEmptyWindows(t *testing.T) {
	const reason = "nothing committed"
	for text, want := range map[string]verdict.Verdict{
		"e": verdict.Unknown, "ee": verdict.Unknown, "es": verdict.Satisfied, "se": verdict.Satisfied, "ese": verdict.Satisfied,
		"eu": verdict.Unknown, "sue": verdict.Unknown, "ev": verdict.Violated, "ve": verdict.Violated, "esv": verdict.Violated,
		"uv": verdict.Violated, "vu": verdict.Violated, "vus": verdict.Violated, "us": verdict.Unknown, "sr": verdict.Unknown, "rs": verdict.Unknown, "rv": verdict.Violated,
	} {
		o := &Outcome{Path: "run"}
		for n, c := range text {
			w := &Outcome{Path: "window", Verdict: verdict.Unknown, Reason: reason}
			switch c {
			case 'e':
			case 'r': // it could not be read
				w.Unread, w.Reason = true, "memory"
			default:
				w.Committed, w.Reason = 1, ""
			}
			switch c {
			case 's':
				w.Verdict, w.Certified, w.Stages = verdict.Satisfied, true, map[string]float64{"order": 1}
			case 'v':
				w.Verdict, w.Certified = verdict.Violated, true
			case 'u':
				w.Reason = "limit"
			}
			o.AddWindow(n+1, w)
		}
		if o.Verdict != want || o.Windows.Total() != len(text) || (o.Reason == reason) != (text == "e" || text == "ee") {
			t.Errorf("%s: %s, %q, %+v", text, o.Verdict, o.Reason, o.Windows)
		}
		if proved := want != verdict.Unknown; o.Certified != proved { // the proof is that of the verdict
			t.Errorf("%s: certified %v", text, o.Certified)
		}
		if (o.Windows.First != "") != (want != verdict.Satisfied) {
			t.Errorf("%s: the first is %q", text, o.Windows.First)
		}
	}
}

// TestOneWindow: one window is not "1 windows".
func TestOneWindow(t *testing.T) {
	if got := (&Windows{Satisfied: 1}).Text(); got != "1 window: 1 satisfied, 0 violated, 0 unknown" {
		t.Error(got)
	}
}
