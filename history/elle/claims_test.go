package elle

import (
	"strings"
	"testing"

	"github.com/isohound/isohound/history"
)

// TestTxnInfo: the timestamps that PingCAP's tests for Jepsen add to operations are positions of commits.
func TestTxnInfo(t *testing.T) {
	const edn = `
{:process 0 :type :invoke :f :txn :value [[:append :x 1]] :time 1 :index 0}
{:process 1 :type :invoke :f :txn :value [[:append :x 2] [:r :y nil]] :time 2 :index 1}
{:process 1 :type :ok :f :txn :value [[:append :x 2] [:r :y []]] :time 3 :index 2 :txn-info {:txn_scope "global", :start_ts 430, :commit_ts 433, :txn_commit_mode "1pc", :modes [1 {:commit_ts 7}], :one_pc_fallback false}}
{:process 0 :type :ok :f :txn :value [[:append :x 1]] :time 4 :index 3 :txn-info {:start_ts 429 :commit_ts 431}}
{:process 0 :type :invoke :f :txn :value [[:r :x nil]] :time 5 :index 4}
{:process 0 :type :ok :f :txn :value [[:r :x [1 2]]] :time 6 :index 5 :txn-info {:start_ts 429 :commit_ts 431}}
{:process 0 :type :invoke :f :txn :value [[:append :y 1]] :time 7 :index 6}
{:process 0 :type :ok :f :txn :value [[:append :y 1]] :time 8 :index 7 :txn-info {:start_ts 429 :commit_ts 431}}
{:process 0 :type :invoke :f :txn :value [[:append :y 2]] :time 9 :index 8}
{:process 0 :type :ok :f :txn :value [[:append :y 2]] :time 10 :index 9 :txn-info {:start_ts 440 :commit_ts 441 :error "lost"}}
{:process 0 :type :invoke :f :txn :value [[:append :y 3]] :time 11 :index 10}
{:process 0 :type :info :f :txn :value [[:append :y 3]] :time 12 :index 11 :txn-info {:start_ts 450 :commit_ts 451}}
{:process 2 :type :ok :f :txn :value [[:append :y 4]] :time 13 :index 12 :txn-info nil}
`
	json := `[{"process":0,"type":"ok","f":"txn","value":[["w","x",1]],"time":1,"index":0,"txn-info":{"start_ts":429,"commit_ts":431}}]`
	for _, tc := range []struct {
		text string
		json bool
		want map[int64]int64 // by the number of the transaction
	}{
		{edn, false, map[int64]int64{2: 433, 3: 431, 5: 0, 7: 0, 9: 0, 11: 0, 12: 0}},
		{json, true, map[int64]int64{0: 431}},
		{strings.ReplaceAll(edn, ":txn-info", ":other"), false, nil},
	} {
		h, err := history.Load(t.Context(), NewReader(strings.NewReader(tc.text), "h", tc.json))
		if err != nil {
			t.Fatal(err)
		}
		if (h.Positions != "") != (tc.want != nil) || len(h.Txns) == 0 {
			t.Errorf("%d transactions, positions %q", len(h.Txns), h.Positions)
		}
		for i := range h.Txns {
			if c := h.Claim(i); c.Commit != tc.want[h.Txns[i].ID] || c.Snapped {
				t.Errorf("transaction %d is at %+v", h.Txns[i].ID, c)
			}
		}
	}
	for _, wrong := range []string{`{:commit_ts 1.5}`, `{:commit_ts 99999999999999999999}`, `{:commit_ts 1`} {
		if _, err := history.Load(t.Context(), NewReader(strings.NewReader(`{:process 0 :type :ok :value [[:w 1 1]] :txn-info `+wrong+`}`), "h", false)); err == nil {
			t.Errorf("%s is read", wrong)
		}
	}
}
