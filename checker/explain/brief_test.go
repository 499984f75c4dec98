package explain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/dsl"
)

func TestBrief(t *testing.T) {
	var list []string
	for n := range 40 {
		list = append(list, fmt.Sprint(5000+n))
	}
	for text, want := range map[string]string{
		strings.Repeat("é", maxBrief):                   strings.Repeat("é", maxBrief),
		`"` + strings.Join(list, ",") + `,"`:            `"5000,5001,5002,… 34 more …,5037,5038,5039,"`,
		`"` + strings.Join(list[:16], ",") + `,"`:       `"5000,5001,5002,… 10 more …,5013,5014,5015,"`,
		strings.Repeat("ab", 50) + "é":                  strings.Repeat("ab", 18) + "… 41 more letters …b" + strings.Repeat("ab", 11) + "é",
		strings.Repeat(strings.Repeat("x", 50)+",", 20): strings.Repeat("x", 36) + "… 960 more letters …" + strings.Repeat("x", 23) + ",",
	} {
		if got := brief(text); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}

// TestLongLists: neither the words nor a label of the graph have a long list in full. The operations have it.
func TestLongLists(t *testing.T) {
	list := ""
	for n := range 600 {
		list += fmt.Sprintf("%d,", 5000+n)
	}
	h := dsl.MustParse(fmt.Sprintf("s1 T1: w(x,%[1]q)\ns2 T2: r(x,%[1]q) w(x,%[2]q)\ns3 T3: r(x,%[1]q) w(x,%[3]q)\n", list, list+"1,", list+"2,"))
	x := h.Key("x")
	read := h.Ops(&h.Txns[1])[0].Value
	a := verdict.Anomaly{Kind: verdict.Cycle, Txns: []int32{1, 2}, Cycle: []verdict.Edge{
		{From: 1, To: 2, Kind: verdict.RW, Key: x, Value: read}, {From: 2, To: 1, Kind: verdict.RW, Key: x, Value: read}}}
	Fill(h, level.SI, &a)
	cycle, context := Edges(h, &a)
	p := &Picture{Title: a.Name(), Cycle: cycle, Context: context}
	for i := range h.Txns {
		p.Txns = append(p.Txns, NewTxn(h, int32(i), nil, nil))
	}
	for what, text := range map[string]string{"words": a.Text, "graph": DOT(p)} {
		if !strings.Contains(text, "5000,5001,5002,… 595 more …,5598,5599,1,") {
			t.Errorf("%s: %s", what, text)
		}
		for line := range strings.Lines(text) {
			if len(line) > 600 {
				t.Errorf("%s: a line of %d bytes: %s", what, len(line), line)
			}
		}
	}
	if got := p.Txns[0].Ops[0].Value; !strings.Contains(got, list) {
		t.Errorf("the operation has %s", got)
	}
}

// TestKeysInWords: the ends of lines in a key or a value do not break the words, and a long key is cut.
func TestKeysInWords(t *testing.T) {
	for key, want := range map[string]string{"a\nb": `T2 read a\nb = "c\nd", which T1 wrote`, "user:" + strings.Repeat("x", 300): "T2 read user:" + strings.Repeat("x", 31) + "… 245 more letters …" + strings.Repeat("x", 24) + ` = "c\nd", which T1 wrote`} {
		h := dsl.MustParse(fmt.Sprintf("s1 T1: w(%[1]q,\"c\\nd\")\ns2 T2: r(%[1]q,\"c\\nd\") w(%[1]q,1)\ns3 T3: r(%[1]q,\"c\\nd\") w(%[1]q,2)\n", key))
		x := h.Key(key)
		read := h.Ops(&h.Txns[1])[0].Value
		a := verdict.Anomaly{Kind: verdict.Cycle, Txns: []int32{1, 2}, Cycle: []verdict.Edge{
			{From: 1, To: 2, Kind: verdict.RW, Key: x, Value: read}, {From: 2, To: 1, Kind: verdict.RW, Key: x, Value: read}}}
		Fill(h, level.SI, &a)
		if !strings.Contains(a.Text, want) {
			t.Errorf("%s", a.Text)
		}
	}
}
