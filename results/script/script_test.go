package script

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/servers"
)

var blocks = regexp.MustCompile(`(?s)(setup|teardown)\n\{\n(.*?)\}\n`)
var stepLine = regexp.MustCompile(`(?m)^(?:session (s\d+)|step (\S+) \{ (.*); \}(?: # .*)?)$`)

// tester executes a specification as isolationtester does, and returns what the steps returned. A step that waits for
// a lock is left waiting.
func tester(t *testing.T, dsn, spec string) map[string][]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	part := map[string]string{}
	for _, m := range blocks.FindAllStringSubmatch(spec, -1) {
		part[m[1]] = m[2]
	}
	type step struct{ session, sql string }
	steps, session := map[string]step{}, ""
	for _, m := range stepLine.FindAllStringSubmatch(spec, -1) {
		if m[1] != "" {
			session = m[1]
		} else {
			steps[m[2]] = step{session, m[3]}
		}
	}
	connect := func() *pgx.Conn {
		conf, err := pgx.ParseConfig(dsn)
		if err != nil {
			t.Fatal(err)
		}
		conf.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
		c, err := pgx.ConnectConfig(ctx, conf)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	admin := connect()
	defer admin.Close(context.Background())
	if _, err := admin.Exec(ctx, part["setup"]); err != nil {
		t.Fatalf("%v: %s", err, part["setup"])
	}
	defer func() {
		if _, err := admin.Exec(context.Background(), part["teardown"]); err != nil {
			t.Error(err)
		}
	}()
	_, order, _ := strings.Cut(spec, "\npermutation ")
	type client struct {
		todo chan string
		done chan bool
		end  chan bool
		open int
	}
	clients, got := map[string]*client{}, map[string][]string{}
	results := make(chan [2]string, 1000)
	for _, name := range strings.Fields(order) {
		s, ok := steps[name]
		if !ok {
			t.Fatalf("no step %s in\n%s", name, spec)
		}
		c := clients[s.session]
		if c == nil {
			c = &client{todo: make(chan string, 100), done: make(chan bool, 100), end: make(chan bool)}
			clients[s.session] = c
			conn := connect()
			go func() {
				defer close(c.end)
				defer conn.Close(context.Background())
				for name := range c.todo {
					rows, err := conn.Query(ctx, steps[name].sql)
					var text []string
					if err == nil {
						for rows.Next() {
							v, _ := rows.Values()
							text = append(text, fmt.Sprint(v))
						}
						err = rows.Err()
					}
					if err != nil {
						text = append(text, err.Error())
					}
					results <- [2]string{name, strings.Join(text, " ")}
					c.done <- true
				}
			}()
		}
		c.todo <- name
		c.open++
		for waits := false; c.open > 0 && !waits; {
			select {
			case <-c.done:
				c.open--
			case <-time.After(300 * time.Millisecond): // it waits for a lock
				waits = true
			}
		}
	}
	for _, c := range clients {
		close(c.todo)
		<-c.end
	}
	close(results)
	for r := range results {
		got[r[0]] = append(got[r[0]], r[1])
	}
	return got
}

// TestSpec: a specification of a lost update loses it at read committed, and not at repeatable read.
func TestSpec(t *testing.T) {
	pg, err := servers.StartPostgres()
	if err != nil {
		t.Fatal(err)
	}
	defer pg.Stop()
	h := dsl.MustParse("initial x=5\ns1 T1 [10,50]: r(x,5) w(x,6)\ns2 T2 [20,60]: r(x,5) w(x,7)\ns1 T3 [70,80]: r(x,7) w(x,nil)\ns3 T4 [90,95]: r(x,nil) w(x,8)\n")
	for isolation, fails := range map[string]bool{"read committed": false, "repeatable read": true} {
		spec := New(h, nil, For("postgres", ""), isolation, "").Spec("a lost update\nof two sessions")
		got := tester(t, pg.DSN(), spec)
		if got["t1_2"][0] != "[5]" || got["t2_2"][0] != "[5]" || strings.Contains(got["t2_3"][0], "could not serialize") != fails {
			t.Errorf("%s: %v\n%s", isolation, got, spec)
		}
		if want := map[bool]string{false: "[7]", true: "[6]"}[fails]; got["t3_2"][0] != want || got["t4_2"][0] != "" || strings.Contains(got["t4_3"][0], "ERROR") {
			t.Errorf("%s: %v", isolation, got)
		}
	}
	// The second read must come after the commit, and the first one before it.
	spec := New(dsl.MustParse("s1 T1 [0,100]: w(x,1) w(y,1)\ns2 T2 [10,110]: r(x,0) r(y,1)\n"), nil, For("postgres", ""), "read committed", "").Spec("half of a commit")
	if got := tester(t, pg.DSN(), spec); got["t2_2"][0] != "[0]" || got["t2_3"][0] != "[1]" {
		t.Errorf("%v\n%s", got, spec)
	}
	// Rows, scans, lists.
	spec = New(rows(t, `it's? a \`), nil, For("postgres", ""), "serializable", "").Spec("rows")
	got := tester(t, pg.DSN(), spec)
	for step, want := range map[string]string{
		"t1_2": `[7 it's? a \]`, "t1_3": "", "t2_2": "", "t3_2": "", "t4_2": "[1,2]", "t4_4": "", "t5_2": "", "t5_3": "", "t6_2": "[5 2 9 new]", "t6_3": "[1]", "t6_4": "[1,2]", "t6_5": "",
	} {
		if len(got[step]) != 1 || got[step][0] != want {
			t.Errorf("%s: %q, want %q\n%s", step, got[step], want, spec)
		}
	}
}

// rows is a serial history on tables. text is in a row.
func rows(t *testing.T, text string) *history.History {
	t.Helper()
	tables := schema.Schema{
		{Name: "bookings", Key: schema.Ints("room", "slot"), Groups: []schema.Group{{Columns: append(schema.Ints("who"), schema.Texts("what")...)}, {Name: "paid", Columns: schema.Ints("paid")}}, Indexes: []schema.Index{schema.IndexOn("who")}},
		{Name: "lists", Key: schema.Ints("k"), Groups: []schema.Group{{Columns: schema.Texts("v")}}},
	}
	sym := history.NewSymbols()
	sym.DefaultInitial = history.Absent
	item := func(t, g int, key ...any) history.Key { return sym.Key(tables[t].Item(key, g)) }
	value := func(values ...any) history.Value {
		s, n, isInt := schema.Content(values)
		if isInt {
			return sym.Int(n)
		}
		return sym.String(s)
	}
	w := func(k history.Key, v history.Value) history.Op {
		return history.Op{Kind: history.Write, Key: k, Value: v}
	}
	r := func(k history.Key, v history.Value) history.Op {
		return history.Op{Kind: history.Read, Key: k, Value: v}
	}
	room, other, list := item(0, 0, int64(4), int64(1)), item(0, 0, int64(5), int64(2)), item(1, 0, int64(3))
	sym.SetInitial(room, value(int64(7), text))
	b := history.NewBuilder(history.Header{Schema: tables}, sym, 0)
	for n, ops := range [][]history.Op{
		{r(room, value(int64(7), text)), w(room, value(int64(8), "x"))},
		{w(other, value(int64(9), "new")), w(item(0, 1, int64(5), int64(2)), value(int64(100)))},
		{w(list, value("1"))},
		{r(list, value("1")), w(list, value("1,2")), r(list, value("1,2"))},
		{w(room, history.Absent)},
		{r(other, value(int64(9), "new")), r(list, value("1,2"))},
	} {
		rec := history.Record{ID: int64(n + 1), Session: 1, Begin: int64(n * 10), End: int64(n*10 + 5), Due: history.NoTime, Status: history.Committed, Ops: ops}
		if n == 5 {
			rec.Predicates = []history.Predicate{
				{Statement: &history.Statement{Kind: history.ScanRead, Table: "bookings", Predicate: schema.Where(schema.Above("who", int64(5))).By("-who"), Groups: []string{""}}, Ops: [2]int{0, 1}},
				{Statement: &history.Statement{Kind: history.ScanCount, Table: "bookings", Predicate: schema.Where(schema.Is("paid", int64(100))), Groups: []string{}}, Count: 1, Ops: [2]int{1, 1}},
			}
		}
		if err := b.Add(&rec); err != nil {
			t.Fatal(err)
		}
	}
	return b.Done(true, nil)
}

// TestForms: what a format cannot hold is left out, and MariaDB gets its own words.
func TestForms(t *testing.T) {
	h := rows(t, `{\`)
	if spec := New(h, nil, For("postgres", ""), "serializable", "").Spec("rows"); spec != "" {
		t.Errorf("a statement with braces: %s", spec)
	}
	text := New(h, nil, For("mariadb", ""), "repeatable read, innodb_snapshot_isolation=ON", "").SQL("rows")
	for _, want := range []string{
		"-- rows\n", "SET SESSION innodb_snapshot_isolation = 'ON';\nSET TRANSACTION ISOLATION LEVEL REPEATABLE READ;\nSTART TRANSACTION;", "ENGINE=InnoDB", `'{\\'`, "ON DUPLICATE KEY UPDATE `v` = '1'", "SET `v` = (@left := CONCAT(`v`, ',2')) WHERE `k` = 3;\nSELECT @left; -- returned \"1,2\"", "DROP TABLE `lists`",
		"; -- returned \"bookings(5,2)\" = \"9,'new'\"\n", "; -- returned 1\n", "\n-- session 1, T2\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if For("badger", "") != nil {
		t.Error("Badger has no SQL")
	}
}

// TestTiDBOfOld: a server refuses a variable that it does not have.
func TestTiDBOfOld(t *testing.T) {
	h := dsl.MustParse("s1 T1 [0,100]: w(x,1)\n")
	const mode = "SET SESSION tidb_txn_mode = 'optimistic'"
	for _, tc := range []struct{ server, isolation, want string }{
		{"TiDB 8.0.11-TiDB-2024-07-03-230bbc2ef5ef", "repeatable read, tidb_txn_mode=optimistic", mode},
		{"TiDB 5.7.25-TiDB-v3.0.0", "repeatable read, tidb_txn_mode=optimistic", mode},
		{"TiDB 5.7.10-TiDB-2019-01-08-c68ee7318319", "repeatable read, tidb_txn_mode=optimistic", "SET SESSION tidb_disable_txn_auto_retry = 'ON'"},
		{"TiDB 5.7.10-TiDB-2019-01-08-c68ee7318319", "repeatable read, tidb_disable_txn_auto_retry=OFF", "SET SESSION tidb_disable_txn_auto_retry = 'OFF'"},
	} {
		text := New(h, nil, For("tidb", tc.server), tc.isolation, "").SQL("a write")
		if !strings.Contains(text, tc.want+";") || strings.Count(text, "SET SESSION") != 1 {
			t.Errorf("%s, %s: want %s:\n%s", tc.server, tc.isolation, tc.want, text)
		}
	}
}
