package faults

import (
	"io"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// delay is a toxic that stays in its stream for the stream's lifetime, and delays answers by the
// current delay of its node. It is the only toxic: toxiproxy's chains, to which toxics are added
// and from which they are removed, fail while connections end (v2.12.0: an ending link keeps the
// removed toxic, and adding the next one then panics with an index out of range).
type delay struct{ node *node }

// waitingAnswers is how many answers may be queued before the next is not read.
const waitingAnswers = 1024

// carry copies bytes from one end of a pair to the other.
func carry(to io.WriteCloser, from io.Reader) {
	_, _ = io.Copy(to, from)
	to.Close()
}

// carryLate does the same in the background, with the delays of the script.
func (n *node) carryLate(to io.WriteCloser, from io.Reader) {
	in, out := make(chan *stream.StreamChunk, waitingAnswers), make(chan *stream.StreamChunk)
	stub := toxics.NewToxicStub(in, out)
	go carry(stream.NewChanWriter(in), from)
	go (&delay{n}).Pipe(stub)
	go carry(to, stream.NewChanReader(out))
}

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

// delay draws the current delay of an answer.
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
