package fromfile

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/internal/randhist"
)

const frame = `tables:
  t: {key: {id: int}, columns: {a: int, b: int null, s: text(5), v: stamp}}
  g:
    key: {k: int, n: int}
    groups:
      left: {x: int, xs: stamp}
      right: {y: int}
  w: {key: {id: int}, columns: {a: int}}
draw:
  i: uniform(1, 9)
  u: unique()
  c: choice('a', 'bb')
  long: text('abcdef', uniform(1, 9))
transactions:
  one:
    statements:
      - do: SELECT a, s FROM t WHERE id = :i
        as: r
      - do: SELECT x FROM g WHERE k = 1 AND n = 2
        as: gx
      - do: SELECT COUNT(*) FROM t WHERE a > 1
        as: n
      - `

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "w.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRefused: what would not be recorded truthfully is refused, at its place, with what to write instead.
// ¦ marks the place.
func TestRefused(t *testing.T) {
	if _, err := Open(t.Context(), write(t, frame+"SELECT * FROM t\n")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ statement, says string }{
		{"SELECT a FROM t ¦JOIN g ON id = k", "joins are not recorded"},
		{"SELECT a FROM t ¦LEFT JOIN g ON id = k", "joins are not recorded"},
		{"SELECT a FROM t¦, g", "read one table"},
		{"SELECT ¦SUM(a) FROM t", "read the columns"},
		{"SELECT a ¦+ 1 FROM t", "compute with :r.COLUMN"},
		{"SELECT t¦.a FROM t", "one table"},
		{"SELECT COUNT(¦a) FROM t", "COUNT(*)"},
		{"SELECT COUNT(*) FROM t LIMIT 1", "leave ORDER BY and LIMIT out"},
		{"SELECT ¦DISTINCT a FROM t", "hides"},
		{"SELECT a ¦AS x FROM t", "the key as:"},
		{"SELECT a FROM t WHERE id = 1 ¦FOR UPDATE", "locks of rows"},
		{"SELECT a FROM t WHERE id = 1 ¦OR id = 2", "IN (…)"},
		{"SELECT a FROM t WHERE ¦NOT id = 1", "<>"},
		{"SELECT a FROM t WHERE ¦EXISTS (SELECT 1)", "if: :r.rows > 0"},
		{"SELECT a FROM t WHERE id = ¦a", ":r.a"},
		{"SELECT a FROM t WHERE a ¦+ 1 = 3", "on the side of the value"},
		{"SELECT a FROM t WHERE ¦ABS(a) = 3", "a condition compares a column"},
		{"SELECT a FROM t WHERE id = ¦ABS(3)", "draw the value"},
		{"SELECT a FROM t WHERE id = ¦(SELECT 1)", "subquery"},
		{"SELECT a FROM t WHERE id IN (¦SELECT 1)", "subquery"},
		{"SELECT a FROM t WHERE b = ¦NULL", "IS NULL"},
		{"SELECT a FROM t WHERE s LIKE ¦'%a'", "LIKE 'abc%'"},
		{"SELECT a FROM t WHERE ¦a LIKE 'a%'", "compares texts"},
		{"SELECT a FROM t WHERE a = ¦'x'", "a number"},
		{"SELECT a FROM t WHERE a = ¦1.5", "integers"},
		{"SELECT a FROM t WHERE a = 2 ¦* 3", "added and subtracted"},
		{"SELECT a FROM t ORDER BY ¦b", "sort nulls"},
		{"SELECT x FROM g ORDER BY ¦x, y LIMIT 1", "cannot be judged"},
		{"SELECT a FROM t LIMIT ¦0", "at least 1"},
		{"SELECT a FROM t ¦GROUP BY a", "read the rows"},
		{"SELECT a FROM ¦tt", "did you mean t?"},
		{"SELECT ¦aa FROM t", "no column aa"},
		{"SELECT a FROM t WHERE id = ¦:j", "no j under draw or params"},
		{"SELECT a FROM t WHERE id = ¦:r", ":r.COLUMN"},
		{"SELECT a FROM t WHERE id = ¦:gx.y", "name it in the SELECT"},
		{"SELECT a FROM t WHERE id = ¦:n.a", ":n.rows"},
		{"SELECT a FROM t WHERE id = ¦:q.a", "no statement before this one"},
		{"SELECT a FROM t WHERE id = 1 + ¦:c", "only numbers are added"},
		{"SELECT a FROM t WHERE id = ¦?", "a colon and a name"},
		{"SELECT ¦\"a\" FROM t", "without quotes"},
		{"SELECT a FROM t WHERE s = ¦'a", "no closing quote"},
		{"INSERT INTO t ¦VALUES (1)", "names its columns"},
		{"INSERT INTO t (id, a, s) VALUES (1, 2, 'a')¦, (2, 2, 'b')", "a statement for each"},
		{"INSERT INTO t (id, a, s) ¦SELECT 1", "INSERT … SELECT"},
		{"¦INSERT INTO t (id, a, s) VALUES (1, 2)", "3 columns and has 2 values"},
		{"¦INSERT INTO t (id, a) VALUES (1, 2)", "leaves out column s"},
		{"INSERT INTO t (id, a, s, ¦v) VALUES (1, 2, 'a', 3)", "is a stamp"},
		{"INSERT INTO t (id, a, s, ¦s) VALUES (1, 2, 'a', 'b')", "stands twice"},
		{"INSERT INTO t (id, a, s) VALUES (1, ¦NULL, 'a')", "int null"},
		{"INSERT INTO t (id, a, s) VALUES (1, 2, ¦'abcdef')", "at most 5 bytes"},
		{"INSERT INTO t (id, a, s) VALUES (1, 2, ¦:long)", "at most 5 bytes"},
		{"INSERT INTO t (id, a, s) VALUES (1, 2, 'a') ON CONFLICT ¦DO NOTHING", "DO UPDATE SET"},
		{"INSERT INTO t (id, a, s) VALUES (1, 2, 'a') ON CONFLICT (¦a) DO UPDATE SET a = a + 1", "whole key"},
		{"¦INSERT INTO g (k, n, x, y) VALUES (1, 2, 3, 4) ON CONFLICT DO UPDATE SET x = 1", "one group"},
		{"UPDATE t SET ¦a = 1 WHERE id = 1", "set b, too"},
		{"UPDATE t SET ¦a = 1, b = b + 1, s = 'a' WHERE id = 1", "two groups"},
		{"UPDATE t SET a = ¦b, b = 1, s = 'a' WHERE id = 1", "read it before"},
		{"UPDATE t SET a = a ¦* 2 WHERE id = 1", "a = a + VALUE"},
		{"UPDATE t SET a = a + 1 ¦+ 2 WHERE id = 1", "one value"},
		{"UPDATE t SET s = s ¦|| 'x' WHERE id = 1", "does not fit"},
		{"UPDATE t SET ¦s = s + 'x' WHERE id = 1", "for numbers"},
		{"UPDATE t SET ¦id = 1 WHERE id = 1", "does not change"},
		{"UPDATE t SET ¦v = 1 WHERE id = 1", "is a stamp"},
		{"UPDATE g SET x = 1, ¦y = 2 WHERE k = 1 AND n = 1", "an UPDATE for each group"},
		{"UPDATE t SET a = a + 1 ¦FROM g", "read that table"},
		{"UPDATE t SET a = a + 1 WHERE id = 1 ¦RETURNING a", "is not needed"},
		{"DELETE ¦t", "expected FROM"},
		{"¦COMMIT", "by itself"},
		{"¦WITH x", "a statement of its own"},
		{"¦EXPLAIN SELECT a FROM t", "expected SELECT, INSERT"},
		{"SELECT a FROM t WHERE id = ¦99999999999999999999", ""},
		{"{do: SELECT a FROM t, ¦at: x}", "no key at; did you mean as?"},
		{"{do: SELECT a FROM t, if: \"¦a > 1\"}", "values that the transaction has"},
		{"{do: SELECT a FROM t, if: \"¦:r.a > 'x'\"}", "a number with a text"},
		{"{do: SELECT a FROM t, if: \":r.a ¦> NULL\"}", "skipped"},
		{"{do: SELECT a FROM t, as: ¦r}", "already"},
		{"{do: DELETE FROM t, as: ¦x}", "what a SELECT has read"},
	} {
		before, after, marked := strings.Cut(c.statement, "¦")
		text := before + after
		_, err := Open(t.Context(), write(t, frame+text+"\n"))
		if err == nil {
			t.Errorf("%s: it is accepted", text)
			continue
		}
		place, rest, _ := strings.Cut(err.Error(), ": ")
		if !strings.Contains(rest, c.says) {
			t.Errorf("%s\nsays %s", c.statement, rest)
		}
		if want := fmt.Sprintf(":%d:%d", strings.Count(frame, "\n")+1, len("      - ")+len(before)+1); marked && !strings.HasSuffix(place, want) {
			t.Errorf("%s\nis at %s, not at %s", c.statement, place, want)
		}
	}
}

// TestFileErrors: what is wrong in a file outside its statements. All errors are told.
func TestFileErrors(t *testing.T) {
	const tables = "tables:\n  t: {key: {id: int}, columns: {a: int}}\n"
	const txns = "transactions: {x: {statements: [INSERT INTO t (id) VALUES (1)]}}\n"
	for _, c := range []struct{ text, says string }{
		{"", "the file is empty"},
		{"a: [", "line 1"},
		{"- x", "1:1: the file is a mapping"},
		{"table:\n  t: {}\n", "1:1: the file has no key table; did you mean tables?"},
		{"about: x", "the file has no tables"},
		{tables, "the file has no transactions"},
		{"tables: {t: {columns: {a: int}}}", "needs a key"},
		{"tables: {t: {key: {id: stamp}, columns: {a: int}}}", "not a stamp"},
		{"tables: {t: {key: {id: integer}}}", "1:24: column id has the type \"integer\""},
		{"tables: {t: {key: {id: int}, columns: {a: text null}}}", "put another column into the group"},
		{"tables: {t: {key: {id: int}, columns: {a: text(300)}}}", "from 1 to 255"},
		{"tables: {t: {key: {id: int}, columns: {a: int}, groups: {b: {c: int}}}}", "not both"},
		{"tables: {T: {key: {id: int}}}", "small letters"},
		{"tables: {t: {key: {id: int}, columns: {a: int}, indexes: [[c]]}}", "column c, which does not exist"},
		{tables + "params: {n: many}\n" + txns, "3:13: parameter n is a whole number"},
		{tables + "params: {mix: 1}\n" + txns, "choose another name"},
		{tables + "rows: [DELETE FROM t]\n" + txns, "3:8: rows has statements of the form INSERT"},
		{tables + "rows: ['INSERT INTO t (id, a) VALUES (1, 1)', 'INSERT INTO t (id, a) VALUES (1, 2)']\n" + txns, "3:48: the row t(1) stands twice"},
		{tables + "rows: ['INSERT INTO t (id, a) VALUES (range(1, 2000), range(1, 2000))']\n" + txns, "more than 1000000 rows"},
		{tables + "rows: ['INSERT INTO t (id, a) VALUES (unique(), 1)']\n" + txns, "unique() is for transactions"},
		{tables + "draw: {x: uniform}\n" + txns, "expected ("},
		{tables + "draw: {x: unifrom(1)}\n" + txns, "3:11: there is no generator unifrom; did you mean uniform?"},
		{tables + "draw:\n  x: uniform(1)\n" + txns, "4:6: write uniform(FROM, TO)"},
		{tables + "draw:\n  x: uniform(5, 1)\n" + txns, "no numbers from 5 to 1"},
		{tables + "draw:\n  x: uniform(1, m)\n" + txns, "4:17: there is no parameter m"},
		{tables + "draw:\n  x: zipfian(1, 9, 1.0)\n" + txns, "skew"},
		{tables + "draw:\n  x: range(1, 9)\n" + txns, "for initial rows"},
		{tables + "draw:\n  x: recent(y, 9)\n" + txns, "4:13: recent draws from a sequence"},
		{tables + "draw:\n  x: choice(1, 'a')\n" + txns, "write choice"},
		{tables + "draw: {x: uniform(1, 2)}\n" + txns, "a comma ends a value"},
		{tables + "transactions: {x: {weight: -1, statements: [DELETE FROM t]}}", "a weight is"},
		{tables + "transactions: {x: {weight: 0, statements: [DELETE FROM t]}}", "weight 0"},
		{tables + "transactions: {x: {think: 3, statements: [DELETE FROM t]}}", "such as 2ms"},
		{tables + "transactions: {x: {}}", "has no statements"},
		{tables + "transactions:\n  x:\n    draw: {y: unique()}\n    statements: [DELETE FROM t]\n", "never uses it"},
		{tables + "transactions: {x: {statements: [{as: y}]}}", "under do"},
		{tables + "transactions: {x: {statements: [DELETE FROM t]}, x: {statements: [DELETE FROM t]}}", "twice"},
	} {
		_, err := Open(t.Context(), write(t, c.text))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s\nsays %v, not %s", c.text, err, c.says)
		}
	}
	_, err := Open(t.Context(), write(t, frame+"SELECT q FROM t\n      - SELECT a FROM q\n"))
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("not both errors: %v", err)
	}
}

// TestPlaces: the place of an error in each style of YAML.
func TestPlaces(t *testing.T) {
	for _, c := range []struct{ entry, place string }{
		{"SELECT q FROM t", ":23:16:"},
		{"'SELECT q FROM t'", ":23:17:"},
		{"\"SELECT q FROM t\"", ":23:17:"},
		{"|\n         SELECT a,\n           q\n         FROM t", ":25:12:"},
		{">\n         SELECT a,\n           q FROM t", ":23:9:"},
	} {
		if _, err := Open(t.Context(), write(t, frame+c.entry+"\n")); err == nil || !strings.Contains(err.Error(), c.place) {
			t.Errorf("%s: %v, not at %s", c.entry, err, c.place)
		}
	}
}

// TestToldOnce: a name that does not exist is told where it stands first.
func TestToldOnce(t *testing.T) {
	text := "tables: {accounts: {key: {id: int}, columns: {a: int}}}\ntransactions:\n  x:\n    statements:\n" + strings.Repeat("      - UPDATE acounts SET a = :nn WHERE id = :nn\n", 3) +
		strings.Repeat("      - UPDATE accounts SET a = :nn WHERE id = :nn\n", 3)
	_, err := Open(t.Context(), write(t, text))
	if err == nil || strings.Count(err.Error(), "there is no table acounts") != 1 || strings.Count(err.Error(), "there is no nn under") != 1 || !strings.Contains(err.Error(), ":5:16:") {
		t.Errorf("%v", err)
	}
}

// TestAnyText: no text makes the compiler panic, and none that is accepted makes a statement that a table
// does not have.
func TestAnyText(t *testing.T) {
	pieces := strings.Fields(`SELECT INSERT UPDATE DELETE INTO FROM SET WHERE AND VALUES ON CONFLICT DO LIMIT ORDER BY DESC IN BETWEEN LIKE IS NOT NULL COUNT
		id a b s v t g w k n x y :i :u :c :r.a :r.rows :n.rows 1 2 'a' 'b%' ( ) , = <> < + - || * . ; -- '`)
	seed := randhist.Seed(t, 1)
	rng := rand.New(rand.NewSource(int64(seed)))
	accepted := 0
	path := write(t, "")
	for range randhist.Count(t, 3_000) {
		starts := []string{"SELECT a FROM t", "UPDATE t SET a = a + 1", "INSERT INTO w (id, a) VALUES (:u, 1)", "DELETE FROM t WHERE", "SELECT", ""}
		text := starts[rng.Intn(len(starts))]
		for range rng.Intn(8) {
			text += " " + pieces[rng.Intn(len(pieces))]
		}
		c, err := compile(path, []byte(frame+"\""+text+"\"\n"), 0, nil)
		if err != nil {
			continue
		}
		accepted++
		if steps := c.txns[0].steps; len(steps) != 4 || steps[3].table == nil || c.tables[steps[3].table.Name] == nil {
			t.Fatalf("seed %d: %s: %+v", seed, text, steps[len(steps)-1])
		}
	}
	if accepted < 100 {
		t.Errorf("seed %d: only %d statements were accepted", seed, accepted)
	}
}
