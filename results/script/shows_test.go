package script

import (
	"strings"
	"testing"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/native"
)

// onTable returns a history of a table t with an integer key k and two integers a and b.
func onTable(t *testing.T, txns ...string) *history.History {
	t.Helper()
	text := `{"isohound":1,"initial":null,"schema":[{"name":"t","key":[{"name":"k","type":"int"}],"groups":[{"columns":[{"name":"a","type":"int"},{"name":"b","type":"int"}]}]}]}` + "\n" +
		strings.Join(txns, "\n") + "\n"
	src, err := native.NewReader(strings.NewReader(text), "h", 0)
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.Load(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestStatements: what a part of a history lacks of its statements and rows is added, so that it shows what was recorded.
func TestStatements(t *testing.T) {
	first := `{"txn":1,"session":1,"begin":0,"end":10,"status":"committed","ops":[["w","t(1)","5,5"]]}`
	gone := `{"txn":2,"session":2,"begin":20,"end":60,"status":"committed","ops":[["w","t(1)",null]]}`
	third := func(ops string) string {
		return `{"txn":3,"session":3,"begin":30,"end":70,"status":"committed","ops":[` + ops + `]}`
	}
	read := `["r","t(1)","5,5"],["r","t(1)",null]`
	for _, tc := range []struct {
		name              string
		part, whole       *history.History
		driver, isolation string
		shows             bool
		want, not         string
	}{
		{"absence that an insertion found", onTable(t, first, gone, third(read)), onTable(t, first, gone, third(read+`,["w","t(1)","7,7"]`)), "postgres", "repeatable read",
			true, `INSERT INTO "t" ("k", "a", "b") VALUES (1, 7, 7);`, "returned no row"},
		{"absence that no statement at repeatable read finds", onTable(t, first, gone, third(read)), nil, "postgres", "repeatable read",
			false, "only if\n-- a transaction may write or lock what was committed after its snapshot, which does not fit repeatable read.", "In this order each read returns what was recorded, if"},
		{"the same at read committed", onTable(t, first, gone, third(read)), nil, "postgres", "read committed", true, "-- returned no row", "INSERT INTO \"t\" (\"k\", \"a\", \"b\") VALUES (1, 7, 7)"},
		{"MariaDB: a statement that writes reads what is committed", onTable(t, first, gone, third(read)), nil, "mariadb", "repeatable read, innodb_snapshot_isolation=OFF",
			true, "FOR UPDATE; -- returned no row", "does not show"},
		{"an update needs its row",
			onTable(t, `{"txn":1,"session":1,"begin":0,"end":10,"status":"committed","ops":[["w","t(1)","5,5"]],"preds":[{"kind":"update","table":"t","where":[["b","in",[8,9]]],"ops":[0,1],"partial":true}]}`,
				`{"txn":2,"session":2,"begin":20,"end":30,"status":"committed","ops":[["r","t(1)","5,5"]]}`), nil, "postgres", "read committed",
			true, `INSERT INTO "t" ("k", "a", "b") VALUES (1, -1000003, 8);`, "FOR UPDATE"},
		{"a row that is deleted again was inserted again by another transaction",
			onTable(t, first, gone, `{"txn":3,"session":3,"begin":70,"end":80,"status":"committed","ops":[["w","t(1)",null]]}`), nil, "postgres", "read committed",
			true, "-- session 4, for a transaction that is left out", "does not show"},
		{"PostgreSQL: a statement that waits does not see what was inserted since it began",
			onTable(t, first, `{"txn":2,"session":2,"begin":20,"end":60,"status":"committed","ops":[["w","t(1)",null],["w","t(1)","6,6"]]}`,
				`{"txn":3,"session":3,"begin":30,"end":70,"status":"committed","ops":[["n","t(1)","5,5"],["n","t(1)","6,6"],["r","t(1)","6,6"]],"preds":[{"kind":"delete","table":"t","where":[["a",">",1]],"ops":[0,2],"implied":2}]}`),
			nil, "postgres", "read committed", true, `DELETE FROM "t" WHERE "a" > 1; -- waits`, "does not show"},
		{"serializable", dsl.MustParse("s1 T1 [0,10]: r(x,0) w(y,1)\ns2 T2 [0,10]: r(y,0) w(x,1)"), nil, "postgres", "serializable", false, "serializable should refuse one of these transactions", "FOR UPDATE"},
	} {
		s := New(tc.part, tc.whole, For(tc.driver, ""), tc.isolation, "")
		text := s.SQL("x")
		if s.Shows() != tc.shows || !strings.Contains(text, tc.want) || strings.Contains(text, tc.not) || tc.shows == strings.Contains(text, "It does not show the violation by itself: ") {
			t.Errorf("%s: shows %v\n%s", tc.name, s.Shows(), text)
		}
	}
	if said := Beside(onTable(t, first, gone, third(read)), onTable(t, first, gone, third(read+`,["w","t(1)","7,7"]`))); len(said) != 1 || !strings.HasPrefix(said[0], "T3 wrote t(1) itself just after it had found it absent, perhaps") {
		t.Errorf("%q", said)
	}
}
