package scans_test

import (
	"bytes"
	"testing"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/history/schema"
)

// history writes the run as isohound records it.
func (r *run) history(t *testing.T) *history.History {
	sym := history.NewSymbols()
	item := func(table int, key any, g int) history.Key { return sym.Key(tables[table].Item([]any{key}, g)) }
	value := func(content []any) history.Value {
		text, n, isNumber := schema.Content(content)
		if isNumber {
			return sym.Int(n)
		}
		return sym.String(text)
	}
	for i, rows := range r.initial {
		for n := range 3 {
			if row, ok := rows[keyOf(i, n)]; ok {
				for g := range row.Groups {
					sym.SetInitial(item(i, row.Key[0], g), value(row.Groups[g]))
				}
			}
		}
	}
	b := history.NewBuilder(history.Header{Schema: tables}, sym, len(r.txns))
	for i := range r.txns {
		x := &r.txns[i]
		rec := history.Record{ID: int64(i + 1), Session: x.session, Status: x.status, Begin: x.begin, End: x.end}
		add := func(kind history.OpKind, table int, key any, g int, v history.Value) {
			rec.Ops = append(rec.Ops, history.Op{Kind: kind, Key: item(table, key, g), Value: v})
		}
		for n := range x.statements {
			s := &x.statements[n]
			switch s.kind {
			case "get":
				v := history.Absent
				if s.found {
					v = value(s.row.Groups[s.group])
				}
				add(history.Read, s.table, s.key, s.group, v)
			case "set":
				add(history.Read, s.table, s.key, s.group, value(s.row.Groups[s.group]))
				add(history.Write, s.table, s.key, s.group, value(s.to))
			case "insert", "delete":
				for g := range tables[s.table].Groups {
					v := history.Absent
					if s.kind == "insert" {
						v = value(s.row.Groups[g])
					}
					add(history.Write, s.table, s.key, g, v)
				}
			default:
				p := history.Predicate{Statement: &history.Statement{Kind: history.ScanRead, Table: tables[s.table].Name, Predicate: s.where}, Ops: [2]int{len(rec.Ops), 0}, Count: s.count}
				if kind := map[string]string{"count": history.ScanCount, "update": history.ScanUpdate, "remove": history.ScanDelete}[s.kind]; kind != "" {
					p.Kind = kind
				}
				for _, row := range s.rows {
					if s.kind == "update" {
						add(history.Write, s.table, row.Key[0], s.group, value(s.to))
						continue
					}
					for g := range row.Groups {
						if s.kind == "remove" {
							add(history.Write, s.table, row.Key[0], g, history.Absent)
							continue
						}
						if g+1 != s.unread {
							add(history.Read, s.table, row.Key[0], g, value(row.Groups[g]))
						}
					}
				}
				p.Ops[1] = len(rec.Ops)
				for n, g := range tables[s.table].Groups {
					if n+1 != s.unread && g.Name != "" && s.kind != "count" && (s.kind != "update" || g.Name == tables[s.table].Groups[s.group].Name) {
						p.Groups = append(p.Groups, g.Name)
					}
				}
				rec.Predicates = append(rec.Predicates, p)
			}
		}
		if err := b.Add(&rec); err != nil {
			t.Fatal(err)
		}
	}
	return b.Done(true, nil)
}

func (r *run) text(t *testing.T) string {
	var out bytes.Buffer
	h := r.history(t)
	w, err := native.NewWriter(&out, false, &h.Header, h.Symbols)
	if err != nil {
		t.Fatal(err)
	}
	for i := range h.Txns {
		rec := h.Record(i)
		if err := w.Write(&rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(true, "complete"); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
