package script

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/history/dsl"
)

// TestOrder: statements stand where they return what was recorded; where that leaves a choice, in the order of their times. In
// "t2_3" T2 executes its third step; the first one is its begin.
func TestOrder(t *testing.T) {
	for _, tc := range []struct{ name, driver, isolation, history, want string }{
		{"a read that missed a commit stands before it", "postgres", "read committed",
			"s1 T1 [0,100]: r(x,0) r(y,0) r(z,0) w(x,2)\ns2 T2 [10,40]: w(x,1) w(z,1)", "t1_1 t2_1 t1_2 t2_2 t2_3 t1_3 t1_4 t2_4 t1_5 t1_6"},
		{"a read of a commit stands after it", "postgres", "read committed",
			"s1 T1 [0,30]: r(x,1)\ns2 T2 [10,40]: w(x,1)", "t1_1 t2_1 t2_2 t2_3 t1_2 t1_3"},
		{"InnoDB: the first read takes the snapshot", "mariadb", "repeatable read, innodb_snapshot_isolation=OFF",
			"s1 T1 [0,100]: w(y,1) r(x,1) r(z,0)\ns2 T2 [10,20]: w(x,1)\ns3 T3 [30,40]: w(z,1)", "t1_1 t2_1 t2_2 t2_3 t1_2 t3_1 t3_2 t1_3 t3_3 t1_4 t1_5"},
		{"PostgreSQL: the first statement does", "postgres", "repeatable read",
			"s1 T1 [0,100]: w(y,1) r(x,1) r(z,0)\ns2 T2 [10,20]: w(x,1)\ns3 T3 [30,40]: w(z,1)", "t1_1 t2_1 t2_2 t2_3 t1_2 t3_1 t3_2 t3_3 t1_3 t1_4 t1_5"},
		{"TiDB: the begin does", "tidb", "repeatable read",
			"s1 T1 [0,100]: r(x,1)\ns2 T2 [10,20]: w(x,1)", "t2_1 t2_2 t2_3 t1_1 t1_2 t1_3"},
		{"nobody waits for a lock", "mariadb", "repeatable read",
			"s1 T1 [0,100]: w(x,1) w(y,1)\ns2 T2 [10,90]: w(x,2)\ns1 T3 [110,120]: r(x,1)", "t1_1 t2_1 t2_2 t2_3 t1_2 t1_3 t1_4 t3_1 t3_2 t3_3"},
		{"what is not committed is read", "mariadb", "read uncommitted",
			"s1 T1 [0,100]: w(x,1) w(x,2) abort\ns2 T2 [10,20]: r(x,1)\ns2 T3 [110,120]: r(x,0)", "t1_1 t2_1 t1_2 t2_2 t2_3 t1_3 t1_4 t3_1 t3_2 t3_3"},
		{"a database that shows such a thing at another isolation", "postgres", "read committed",
			"s1 T1 [0,100]: w(x,1) abort\ns2 T2 [10,20]: r(x,1)", "t1_1 t2_1 t1_2 t2_2 t2_3 t1_3"},
		{"an unknown outcome ends later", "postgres", "read committed",
			"s1 T1 [0,10]: w(x,1) unknown\ns2 T2 [20,30]: r(x,0)\ns2 T3 [40,50]: r(x,1)", "t1_1 t1_2 t2_1 t2_2 t1_3 t2_3 t3_1 t3_2 t3_3"},
		{"PostgreSQL inserts a row again that was deleted after the snapshot", "postgres", "repeatable read",
			"initial x=5\ns1 T1 [0,100]: r(y,0) w(x,7)\ns2 T2 [10,20]: w(x,nil) w(y,1)\ns3 T3 [200,210]: r(x,7) r(y,1)", "t1_1 t2_1 t2_2 t2_3 t1_2 t2_4 t1_3 t1_4 t3_1 t3_2 t3_3 t3_4"},
		{"a read that is in no order", "postgres", "read committed",
			"s1 T1 [0,10]: w(x,1)\ns2 T2 [20,30]: r(x,0)", ""},
	} {
		s := New(dsl.MustParse(tc.history), nil, For(tc.driver, ""), tc.isolation, "")
		var names []string
		for _, x := range s.steps {
			names = append(names, x.name)
		}
		if got := strings.Join(names, " "); tc.want != "" && got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
		if strings.Contains(s.order, guessed) != (tc.want == "") {
			t.Errorf("%s: %s", tc.name, s.order)
		}
	}
}

// TestNotInsertedAgain: with snapshot isolation InnoDB refuses to insert a row that was deleted after the snapshot, so the SQL does
// not claim to show a violation that rests on it.
func TestNotInsertedAgain(t *testing.T) {
	h := dsl.MustParse("initial x=5\ns1 T1 [0,100]: r(y,0) w(x,7)\ns2 T2 [10,20]: w(x,nil) w(y,1)\ns3 T3 [200,210]: r(x,7) r(y,1)")
	if s := New(h, nil, For("mariadb", ""), "repeatable read, innodb_snapshot_isolation=ON", ""); !strings.Contains(s.order, "only if\na transaction may write or lock what was committed after its snapshot") {
		t.Error(s.order)
	}
}

// TestOrderTakesNotLong: the search for an order that there is not ends.
func TestOrderTakesNotLong(t *testing.T) {
	text := "s1 T1 [0,100]: w(x,1)\ns2 T2 [0,100]: w(y,1)\ns3 T3 [0,100]: r(x,1) r(y,0)\ns4 T4 [0,100]: r(y,1) r(x,0)\n"
	for n := 5; n < 25; n++ {
		text += fmt.Sprintf("s%d T%d [0,100]: w(k%d,1) w(j%d,1) r(x,1)\n", n, n, n, n)
	}
	begun := time.Now()
	if s := New(dsl.MustParse(text), nil, For("postgres", ""), "repeatable read", ""); !strings.Contains(s.order, guessed) {
		t.Errorf("%v", s.steps)
	}
	t.Log(time.Since(begun))
}

// TestOrderOfClocks: where no order is found, times of several clocks give none.
func TestOrderOfClocks(t *testing.T) {
	const text = "s1 T1 [1000,2000]: r(x,0) w(x,1)\ns2 T2 [10,20]: r(x,1) r(x,0)\n"
	for head, first := range map[string]int{"": 1, "no_common_clock\n": 0} {
		x := &search{w: &writer{h: dsl.MustParse(head + text)}, txns: [][]unit{make([]unit, 3), make([]unit, 3)}}
		if before := x.due(0, 2) < x.due(1, 0); before != (first == 0) {
			t.Errorf("%q: %v before %v", head, x.due(0, 2), x.due(1, 0))
		}
	}
}
