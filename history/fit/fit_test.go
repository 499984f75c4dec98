package fit_test

import (
	"strings"
	"testing"

	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/fit"
)

// plain is a format of integers without anything else.
func plain() fit.Carries {
	return fit.Carries{Format: "plain", Aborted: fit.AbortedWhole, Empty: true, Key: fit.NotNegative, Value: fit.NotNegative}
}

func TestTo(t *testing.T) {
	with := func(change func(*fit.Carries)) fit.Carries {
		c := plain()
		change(&c)
		return c
	}
	same := "" // the history itself
	for _, tc := range []struct {
		name, text string
		carries    fit.Carries
		want       string
		losses     string // the beginnings of losses and notes, in their order
	}{
		{"nothing is lost", "s1 T1: r(1,0) w(1,5)\ns2 T2: w(1,6) abort", plain(), same, ""},
		{"times", "s1 T1 [1,2]: r(1,0)\ns1 T4 [?,9]: r(1,0)", plain(), "s1 T1: r(1,0)\ns1 T4: r(1,0)\n", "2 transactions have times, first transaction 1: left out"},
		{"times are carried", "s1 T1 [1,2]: r(1,0)", with(func(c *fit.Carries) { c.Times = true }), same, ""},
		{"times of several clocks", "no_common_clock\ns1 T1 [1,2]: r(1,0)\ns2 T4: r(1,0)", with(func(c *fit.Carries) { c.Times = true }), "s1 T1: r(1,0)\ns2 T4: r(1,0)\n",
			"1 transaction has times of several clocks (no_common_clock), first transaction 1: left out"},
		{"several clocks are carried", "no_common_clock\ns1 T1 [1,2]: r(1,0)", with(func(c *fit.Carries) { c.Times, c.Clocks = true, true }), same, ""},
		{"unknown and read from", "s1 T1: r(1,0) w(1,5) unknown\ns2 T2: r(1,5)", plain(),
			"s1 T1: r(1,0) w(1,5)\ns2 T2: r(1,5)\n", "1 transaction of unknown outcome was read from, first transaction 1: written as committed, because"},
		{"unknown, read from by another that was", "s1 T1: w(1,5) unknown\ns2 T2: r(1,5) w(2,6) unknown\ns3 T3: r(2,6)", plain(),
			"s1 T1: w(1,5)\ns2 T2: r(1,5) w(2,6)\ns3 T3: r(2,6)\n", "2 transactions of unknown outcome were read from"},
		{"unknown and not read from", "s1 T1: w(1,5) unknown\ns2 T2: r(1,5) w(2,6) unknown\ns3 T3: r(1,5) abort", plain(),
			"s1 T1: w(1,5) abort\ns2 T2: r(1,5) w(2,6) abort\ns3 T3: r(1,5) abort\n", "2 transactions of unknown outcome were not read from, first transaction 1: written as aborted"},
		{"unknown, and somebody else may have been read from", "s1 T1: r(2,0) w(1,5) unknown\ns2 T2: w(1,5)\ns3 T3: r(1,5)", plain(),
			"s1 T1: w(1,5)\ns2 T2: w(1,5)\ns3 T3: r(1,5)\n", "1 transaction of unknown outcome may have been read from, first transaction 1: written as committed, without"},
		{"no session order leaves what was unknown", "s1 T1: w(1,5) unknown\ns1 T2: r(1,0)\ns2 T3: r(1,5)", plain(),
			"s3 T1: w(1,5)\ns1 T2: r(1,0)\ns2 T3: r(1,5)\n", "1 transaction of unknown outcome was read from"},
		{"aborted", "s1 T1: w(1,5) abort\ns2 T2: w(1,6)", with(func(c *fit.Carries) { c.Aborted = fit.AbortedNone }), "s2 T2: w(1,6)\n", "1 transaction aborted, first transaction 1: left out"},
		{"aborted writes", "s1 T1: r(1,0) w(1,5) abort", with(func(c *fit.Carries) { c.Aborted = fit.AbortedWrites }), "s1 T1: w(1,5) abort\n", "note 1 aborted transaction keeps only"},
		{"cut off", "open\ns1 T1: r(1,7) r(1,0) r(2,5)\ns2 T2: w(2,5) abort", plain(), "s1 T1: r(1,0) r(2,5)\ns2 T2: w(2,5) abort\n",
			"the recording was cut off: the written\n1 read has no known writer, first transaction 1"},
		{"compare-and-set", "s1 T1: n(1,7) r(1,0)", plain(), "s1 T1: r(1,0)\n", "1 failed compare-and-set returned no value"},
		{"nothing left", "s1 T1: n(1,7)\ns1 T2:", with(func(c *fit.Carries) { c.Empty = false }), "", "1 failed compare-and-set\nnote 2 transactions without"},
		{"first values and absence", "initial nil\ninitial 2=7\ns1 T1: r(1,nil) w(1,0) r(2,7) w(2,nil) w(2,1)", plain(),
			"s1 T1: r(1,0) w(1,2) r(2,0) w(2,3) w(2,1)\n", "2 keys begin with a value other than 0\n2 values such as 0 cannot"},
		{"first values that nothing mentions", "initial nil\ns1 T1: w(1,5) r(1,5)", plain(), same, ""},
		{"texts", "s1 T1: r(1,0) w(1,abc) r(1,abc) w(2,abc) w(2,-1)", plain(), "s1 T1: r(1,0) w(1,1) r(1,1) w(2,2) w(2,3)\n", "3 values such as \"abc\" cannot"},
		{"begins absent", "s1 T1: r(1,0) w(1,nil) w(1,5)", with(func(c *fit.Carries) { c.Initial = fit.InitialAbsent }), "initial nil\ns1 T1: r(1,nil) w(1,1) w(1,5)\n",
			"1 key begins with a value other than absence\n1 value such as null"},
		{"keys with a number", "s1 T1: r(k7,0) r(k12,0)", plain(), "s1 T1: r(7,0) r(12,0)\n", `note keys are numbered: "k7" is 7, …, "k12" is 12`},
		{"other keys", "s1 T1: r(k7,0) r(x,0) r(k07,0)", plain(), "s1 T1: r(1,0) r(2,0) r(3,0)\n", "note keys are numbered"},
		{"numbers", "s-1 T-5: r(1,0)\ns3 T8: r(1,0)", with(func(c *fit.Carries) {
			c.Txn = func(n int64) bool { return n >= 0 }
			c.Session = c.Txn
		}), "s1 T1: r(1,0)\ns2 T2: r(1,0)\n", "note transactions are numbered anew\nnote sessions are numbered anew"},
		{"one origin", "s1 T1: w(1,5)\ns2 T2: w(1,5)\ns3 T3: r(1,5) r(1,0)", with(func(c *fit.Carries) { c.Tells = fit.OneWrite }),
			"s1 T1: w(1,5)\ns2 T2: w(1,5)\ns3 T3: r(1,0)\n", "1 read has several possible writers, first transaction 3"},
		{"first or written", "s1 T1: w(1,0)\ns2 T2: w(1,5)\ns3 T3: r(1,5) r(1,0)\ns4 T4: w(1,5)", with(func(c *fit.Carries) { c.Tells = fit.OrInitial }),
			"initial 1=nil\ns1 T1: w(1,0)\ns2 T2: w(1,5)\ns3 T3: r(1,5)\ns4 T4: w(1,5)\n", "1 read has several possible writers"},
		{"the file writes the first 0", "initial nil\ns1 T1: w(1,0)\ns2 T2: r(1,0) w(1,5)", plain(), same, ""},
		{"a 0 that is not the first of the file", "initial nil\ns1 T1: w(1,5)\ns2 T2: w(1,0)\ns3 T3: r(1,0)", plain(), "s1 T1: w(1,5)\ns2 T2: w(1,1)\ns3 T3: r(1,1)\n",
			"1 value such as 0 cannot"},
		{"a second 0 that would pass for the first", "s1 T1: w(1,0)\ns2 T2: r(1,0) w(1,5)\ns3 T3: r(2,0) w(2,6)", plain(),
			"initial 1=nil\ns4 T4: w(3,1) w(1,0)\ns1 T1: r(3,1) w(1,0)\ns2 T2: r(3,1) r(1,0) w(1,5)\ns3 T3: r(2,0) w(2,6)\n", "note an extra transaction writes 1 initial value and a mark"},
		{"a second 0 that nobody can take for the first", "s1 T1: r(1,0) w(1,5)\ns2 T2: w(1,0)", plain(), same, ""},
		{"no initial values", "s1 T1: r(1,0) w(1,5)\ns2 T2: w(2,5)\ns2 T4: r(1,0)", with(func(c *fit.Carries) { c.Initial = fit.InitialNone }),
			"initial nil\ns3 T5: w(3,1) w(1,0)\ns1 T1: r(3,1) r(1,0) w(1,5)\ns2 T2: w(2,5)\ns2 T4: r(1,0)\n", "note an extra transaction writes 1 initial value"},
		{"no initial values, and absence", "initial nil\ns1 T1: r(1,nil) w(1,0)", with(func(c *fit.Carries) { c.Initial = fit.InitialNone }),
			"initial nil\ns2 T2: w(2,1) w(1,1)\ns1 T1: r(2,1) r(1,1) w(1,0)\n", "1 value such as null cannot\nnote an extra transaction"},
		{"absence where nobody wrote", "initial nil\ns1 T1: r(1,nil) w(1,0) r(1,0)", with(func(c *fit.Carries) { c.Initial = fit.InitialVersion }), same, ""},
		{"0 where nobody wrote it", "s1 T1: r(1,0) w(1,5) r(2,0)", with(func(c *fit.Carries) { c.Initial = fit.InitialVersion }), same, ""},
		{"0 where somebody wrote it, too", "s1 T1: r(1,0) w(1,5)\ns2 T2: w(1,0)", with(func(c *fit.Carries) { c.Initial = fit.InitialVersion }),
			"initial 1=nil\ns3 T3: w(2,1) w(1,0)\ns1 T1: r(2,1) r(1,0) w(1,5)\ns2 T2: r(2,1) w(1,0)\n", "note an extra transaction"},
		{"a 0 that nobody wrote is no absence", "initial nil\ns1 T1: r(1,nil) r(1,0)", with(func(c *fit.Carries) { c.Initial = fit.InitialVersion }),
			"initial 1=nil\ns1 T1: r(1,nil) r(1,1)\n", "1 value such as 0 cannot"},
		{"what only committed transactions read", "s1 T1: r(1,0) w(1,5) unknown\ns2 T2: r(1,0) abort", with(func(c *fit.Carries) { c.KnownOnly, c.Unknown = true, true }),
			"s1 T1: w(1,5) unknown\ns2 T2: abort\n", "1 read belongs to a transaction of unknown\nnote 1 read of an aborted"},
		{"an end that says more", "s1 T1: w(1,5) unknown\ns1 T2:\ns2 T3: unknown", with(func(c *fit.Carries) { c.OpenAtUnknown, c.Unknown = true, true }),
			"s1 T1: w(1,5) unknown\ns1 T2:\ns2 T3: unknown\n", "1 session ends in a transaction of unknown outcome, first transaction 3"},
		{"never read at first", "initial nil\ninitial 1=5\ns1 T1: r(1,nil)", with(func(c *fit.Carries) { c.Initial = fit.InitialRead }), "initial nil\ns1 T1: r(1,nil)\n",
			"1 key was found absent"},
	} {
		h := dsl.MustParse(tc.text)
		before := dsl.Format(h)
		got, losses, notes, err := fit.To(h, tc.carries)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if want := tc.want; want == same && tc.losses == "" {
			if got != h {
				t.Errorf("%s: the history was changed:\n%s", tc.name, dsl.Format(got))
			}
		} else if dsl.Format(got) != want {
			t.Errorf("%s: got\n%s\nwant\n%s", tc.name, dsl.Format(got), want)
		}
		var said []string
		for _, l := range losses {
			said = append(said, l.String())
		}
		for _, n := range notes {
			said = append(said, "note "+n)
		}
		want := strings.Split(tc.losses, "\n")
		if tc.losses == "" {
			want = nil
		}
		for i := range max(len(want), len(said)) {
			if i >= len(want) || i >= len(said) || !strings.HasPrefix(said[i], want[i]) {
				t.Errorf("%s: says\n%s\nwant\n%s", tc.name, strings.Join(said, "\n"), tc.losses)
				break
			}
		}
		if dsl.Format(h) != before {
			t.Errorf("%s: the original was changed", tc.name)
		}
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string][3]bool{ // unsigned, signed, not negative
		"0": {true, true, true}, "18446744073709551615": {true, false, false}, "9223372036854775807": {true, true, true},
		"-5": {false, true, false}, "-0": {}, "007": {}, "+1": {}, "1.5": {}, "": {}, "null": {}, "18446744073709551616": {},
	} {
		if got := [3]bool{fit.Unsigned(text), fit.Signed(text), fit.NotNegative(text)}; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
