package cli

import (
	"strings"
	"testing"
)

// TestProofsOfScans: these had proofs that were refused (exit code 70): choices of scans at psi, an update that reads what it wrote, and
// one that reads a row twice.
func TestProofsOfScans(t *testing.T) {
	for name, tc := range map[string]struct{ text, levels, want string }{
		"psi": {`{"isohound":1,"workload":"w","initial":null,"schema":[{"name":"t","key":[{"name":"k","type":"int"}],"groups":[{"columns":[{"name":"a","type":"int"},{"name":"x","type":"int"}]}]},{"name":"u","key":[{"name":"k","type":"int"}],"groups":[{"name":"g","columns":[{"name":"a","type":"int"},{"name":"x","type":"int"}]},{"name":"h","columns":[{"name":"b","type":"int"},{"name":"y","type":"int"}]}]}]}
{"initial":[["u(0).g","1,101"],["u(0).h","1,102"],["u(1).g","2,103"],["u(1).h","1,104"],["u(2).g","3,105"],["u(2).h","3,106"]]}
{"txn":1,"session":0,"status":"committed","ops":[["r","u(2).g","3,105"],["r","u(1).g","2,103"]],"preds":[{"kind":"read","table":"u","where":[["b",">",1]],"groups":["g"],"ops":[0,1]},{"kind":"read","table":"u","where":[["a","<>",1],["b","=",1]],"order":["-a"],"groups":["g"],"ops":[1,1]},{"kind":"update","table":"u","where":[["b","in",[1,1]],["k",">",0]],"groups":["g"],"ops":[1,2]}]}
{"txn":2,"session":0,"status":"committed","ops":[["w","u(1).g","3,107"],["w","u(1).h","1,108"],["w","u(1).g","1,109"],["w","u(1).h","2,110"]]}
{"txn":3,"session":0,"status":"committed","ops":[["r","u(0).g","1,101"],["r","u(1).g","1,109"],["r","u(2).g","3,105"]],"preds":[{"kind":"read","table":"u","order":["a"],"groups":["g"],"ops":[0,3]}]}
{"closed":{"reason":"complete","txns":3}}
`, "psi", "psi unknown"},
		"own": {`{"isohound":1,"workload":"w","initial":null,"schema":[{"name":"t","key":[{"name":"k","type":"int"}],"groups":[{"columns":[{"name":"a","type":"int"},{"name":"x","type":"int"}]}]},{"name":"u","key":[{"name":"k","type":"int"}],"groups":[{"name":"g","columns":[{"name":"a","type":"int"},{"name":"x","type":"int"}]},{"name":"h","columns":[{"name":"b","type":"int"},{"name":"y","type":"int"}]}]}]}
{"initial":[["t(0)","3,101"]]}
{"txn":1,"session":0,"begin":10,"end":60,"status":"committed","ops":[["r","t(0)","3,101"],["w","t(0)","0,102"],["r","t(0)","0,102"],["r","t(0)","0,102"],["r","t(0)","0,102"],["w","t(0)","1,103"]],"preds":[{"kind":"update","table":"t","where":[["a","in",[3,1]]],"ops":[0,3]},{"kind":"update","table":"t","where":[["a","=",0]],"ops":[3,6]}]}
{"txn":2,"session":2,"begin":20,"end":100,"status":"committed","ops":[["r","t(0)","1,103"]],"preds":[{"kind":"count","table":"t","where":[["a",">=",0]],"count":1,"ops":[0,0]}]}
{"txn":3,"session":2,"begin":130,"end":170,"status":"committed","ops":[["r","t(0)","1,103"],["r","t(0)","1,103"]],"preds":[{"kind":"read","table":"t","where":[["a","=",3]],"ops":[0,0]},{"kind":"read","table":"t","where":[["a","<=",1],["a",">=",0]],"ops":[0,2]}]}
{"txn":4,"session":2,"begin":180,"end":210,"status":"committed","ops":[["w","t(0)","2,104"],["w","t(0)","1,105"]]}
{"txn":5,"session":0,"begin":70,"end":140,"status":"committed","ops":[["r","t(0)","1,103"],["r","t(0)","1,103"]],"preds":[{"kind":"read","table":"t","where":[["k","in",[0,3]],["a","=",0]],"ops":[2,2]}]}
{"closed":{"reason":"complete","txns":5}}
`, "rc,mr,ru", "ru satisfied"},
		"twice": {`{"isohound":1,"workload":"w","initial":null,"schema":[{"name":"t","key":[{"name":"k","type":"int"}],"groups":[{"columns":[{"name":"a","type":"int"},{"name":"x","type":"int"}]}]},{"name":"u","key":[{"name":"k","type":"int"}],"groups":[{"name":"g","columns":[{"name":"a","type":"int"},{"name":"x","type":"int"}]},{"name":"h","columns":[{"name":"b","type":"int"},{"name":"y","type":"int"}]}]}]}
{"initial":[["t(0)","3,101"],["t(1)","3,102"]]}
{"txn":1,"session":0,"status":"committed","ops":[["w","t(0)","0,105"]]}
{"txn":2,"session":1,"status":"committed","ops":[["r","t(0)","3,101"],["r","t(1)","3,102"],["w","t(1)","1,110"],["r","t(0)","0,105"]],"preds":[{"kind":"update","table":"t","where":[["a",">",2]],"ops":[0,4]}]}
{"closed":{"reason":"complete","txns":2}}
`, "rc,ru", "WrongRow"},
	} {
		c := isohound(t, "check", write(t, name+".jsonl", tc.text), "--level", tc.levels, "--certify")
		if c.code > int(exitUnknown) || !strings.Contains(c.out, tc.want) {
			t.Errorf("%s: exit code %d\n%s%s", name, c.code, c.out, c.msg)
		}
	}
}
