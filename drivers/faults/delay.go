package faults

import (
	"strings"
	"time"

	"github.com/Shopify/toxiproxy/v2/toxics"
)

// delay is a toxic that stays in each link from beginning to end and holds
// answers up for as long as its node says at the moment. Toxiproxy's own would
// have to come and go while connections end, which v2.12.0 does not survive: a
// link that is ending keeps the toxic that is removed, and then the next one
// that is added is an index out of range.
type delay struct{ node *node }

const delayType = "isohound_delay"

func init() { toxics.Register(delayType, new(delay)) }

// delayAnswers puts a delay into what the links of n will be.
func (n *node) delayAnswers() {
	t, err := n.proxy.Toxics.AddToxicJson(strings.NewReader(`{"type":"` + delayType + `","stream":"downstream"}`))
	if err != nil {
		panic(err) // cannot be: the text is ours
	}
	t.Toxic.(*delay).node = n
}

// GetBufferSize implements toxics.BufferedToxic: answers that wait do not keep
// the next ones from being read.
func (d *delay) GetBufferSize() int { return 1024 }

// Pipe implements toxics.Toxic.
func (d *delay) Pipe(stub *toxics.ToxicStub) {
	for {
		select {
		case <-stub.Interrupt:
			return
		case c := <-stub.Input:
			if c == nil {
				stub.Close()
				return
			}
			if wait := d.node.delay(); wait > 0 {
				time.Sleep(wait - time.Since(c.Timestamp))
			}
			stub.Output <- c
		}
	}
}

// delay draws how much later than it came an answer goes on.
func (n *node) delay() (sum time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for e := range n.late {
		sum += e.Delay
		if e.Jitter > 0 {
			sum += time.Duration(n.jitter.Int64N(int64(2*e.Jitter)+1)) - e.Jitter
		}
	}
	return sum
}
