package history

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

func TestSymbols(t *testing.T) {
	s := NewSymbols()
	if s.Key("x") != 0 || s.Key("y") != 1 || s.KeyBytes([]byte("x")) != 0 || s.KeyName(1) != "y" || s.KeyCount() != 2 {
		t.Error("keys are not numbered densely")
	}
	values := []Value{
		s.Int(0), s.Int(-1), s.Int(math.MaxInt64), s.Int(math.MinInt64), s.Int(math.MinInt64 + 1), s.Int(int64(MinInt)), s.Int(int64(MinInt) - 1),
		s.String("0"), s.String("a\"b"), s.String(""), s.Raw("1.5"), s.Raw("true"), Absent,
	}
	texts := []string{
		"0", "-1", "9223372036854775807", "-9223372036854775808", "-9223372036854775807", s.ValueText(Value(MinInt)), s.ValueText(s.Int(int64(MinInt) - 1)),
		`"0"`, `"a\"b"`, `""`, "1.5", "true", "null",
	}
	seen := map[Value]bool{}
	for i, v := range values {
		if seen[v] {
			t.Errorf("value %d, %s, is another one's", i, texts[i])
		}
		seen[v] = true
		if got := s.ValueText(v); got != texts[i] {
			t.Errorf("value %d is %s, want %s", i, got, texts[i])
		}
	}
	if s.String("0") != values[7] || s.Raw("1.5") != values[10] {
		t.Error("equal texts are not equal values")
	}
	s.SetInitial(1, s.Int(5))
	if s.Initial(0) != Absent || s.Initial(1) != 5 || s.Initial(7) != Absent {
		t.Error("initial values")
	}
	s.DefaultInitial = 3
	if s.Initial(0) != 3 || s.Initial(1) != 5 {
		t.Error("initial values after a change of the default")
	}
}

// TestZeroStatus: the zero value of a status must not mean success.
func TestZeroStatus(t *testing.T) {
	var txn Txn
	if txn.Status != Unknown {
		t.Errorf("the zero status is %s", txn.Status)
	}
	for _, s := range []Status{Unknown, Committed, Aborted} {
		if got, ok := ParseStatus(s.String()); !ok || got != s {
			t.Errorf("%s does not survive its name", s)
		}
	}
	if _, ok := ParseStatus("invalid"); ok {
		t.Error("invalid is a status")
	}
}

func TestBuilderRefuses(t *testing.T) {
	rec := func(id, session, begin, end int64) *Record {
		return &Record{ID: id, Session: session, Begin: begin, End: end, Due: NoTime, Status: Committed}
	}
	for _, tc := range []struct {
		name    string
		records []*Record
		want    string
	}{
		{"duplicate", []*Record{rec(1, 1, 0, 1), rec(2, 2, 0, 1), rec(1, 3, 0, 1)}, "transaction id 1 occurs twice"},
		{"duplicate far out", []*Record{rec(1<<60, 1, 0, 1), rec(-5, 2, 0, 1), rec(1<<60, 3, 0, 1)}, "occurs twice"},
		{"duplicate negative", []*Record{rec(-5, 1, 0, 1), rec(-5, 2, 0, 1)}, "occurs twice"},
		{"backwards", []*Record{rec(1, 1, 5, 4)}, "before it begins"},
		{"overlap", []*Record{rec(1, 1, 0, 5), rec(2, 1, 4, 6)}, "before transaction 1 of the same session ends"},
	} {
		b := NewBuilder(Header{}, NewSymbols(), 0)
		var err error
		for _, r := range tc.records {
			if err != nil {
				t.Errorf("%s: %v came too early", tc.name, err)
			}
			err = b.Add(r)
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	b := NewBuilder(Header{}, NewSymbols(), 0)
	for _, r := range []*Record{rec(1, 1, 0, 5), rec(2, 1, 5, 5), rec(3, 1, NoTime, NoTime), rec(4, 1, 6, NoTime)} {
		if err := b.Add(r); err != nil {
			t.Error(err)
		}
	}
}

// TestIDSet extends the bits past ids that are already in the map, for various first ids.
func TestIDSet(t *testing.T) {
	for _, first := range []int64{0, below, below + 1, 1 << 50, math.MaxInt64 - 1<<30} {
		var s idSet
		far, before := first+2<<20, first-2<<20
		for _, id := range []int64{first, far, before, math.MinInt64, math.MaxInt64} {
			if !s.add(id) || s.add(id) {
				t.Errorf("from %d: id %d", first, id)
			}
		}
		for i := int64(1); i < 1<<17; i++ {
			if !s.add(first+i) || i <= below && !s.add(first-i) {
				t.Fatalf("from %d: id %d or %d is not new", first, first+i, first-i)
			}
		}
		if s.add(far) || s.add(before) || s.add(first+5) || s.add(math.MinInt64) || s.add(math.MaxInt64) {
			t.Errorf("from %d: a duplicate was not noticed", first)
		}
	}
}

// TestKeyNames: a name is one key, however it is looked up. Numbers are the same key only if
// they are spelled the same.
func TestKeyNames(t *testing.T) {
	s := NewSymbols()
	names := []string{"x", "7", "07", "0", "00", "", "-1", "+1", "3999999", "4000000", "9999999", "10000000", "18446744073709551615", "1e3", "7 "}
	for i, n := range names {
		if k := s.Key(n); k != Key(i) || s.KeyName(k) != n {
			t.Errorf("%q is key %d, called %q", n, k, s.KeyName(k))
		}
		if k := s.KeyBytes([]byte(n)); k != Key(i) {
			t.Errorf("%q as bytes is key %d", n, k)
		}
		if u, err := strconv.ParseUint(n, 10, 64); err == nil && strconv.FormatUint(u, 10) == n && s.KeyNumber(u) != Key(i) {
			t.Errorf("%q as a number is key %d", n, s.KeyNumber(u))
		}
	}
	if k := s.KeyNumber(12); s.KeyName(k) != "12" || s.KeyBytes([]byte("12")) != k || s.KeyCount() != len(names)+1 {
		t.Errorf("12 is key %d, called %q", k, s.KeyName(k))
	}
}
