// Package fit makes a history fit a format that cannot carry everything. It finds what would be
// lost, and returns a history without it.
//
// A Loss is something that can change a verdict. If there is a choice, fit chooses what cannot
// make a correct history look violated: it leaves out a read rather than keep a read without a
// writer. What cannot change a verdict, such as the names of keys, is reported in notes.
package fit

import (
	"fmt"
	"strings"

	"github.com/isohound/isohound/history"
)

// Carries says what a format can hold. The zero value holds committed
// transactions of reads and writes.
type Carries struct {
	Format string // its name, for messages

	Times     bool // begin and end
	Clocks    bool // that times are of several clocks (history.Header.NoCommonClock)
	Unknown   bool // transactions of unknown outcome
	KnownOnly bool // only reads of committed transactions
	Aborted   Aborted
	Open      bool // histories whose recording was cut off
	// OpenAtUnknown: a session that ends in a transaction of unknown outcome
	// makes the recording look cut off.
	OpenAtUnknown bool
	ReadNot       bool
	Empty         bool // transactions without operations
	PlainScans    bool // statements with conditions on plain keys (schema.Plain)
	Claims        bool // where the database says it placed transactions
	Header        bool // how the history was recorded, ids of the database, nodes

	// Initial says which value keys have before the first transaction.
	Initial Initial
	// Tells says which values must have only one origin each, so that the value of a read
	// identifies its writer.
	Tells Origin

	// Key and Value report which names of keys and which values, as JSON scalars, can stay as
	// they are; nil means all. Others are replaced by numbers.
	Key, Value func(text string) bool

	// Renumbers: transactions and sessions are numbered from 1 in the order of the file, session
	// by session. Without Renumbers, Txn and Session report which numbers can stay; nil means
	// all.
	Renumbers    bool
	Txn, Session func(int64) bool
}

// Aborted says what is kept of aborted transactions.
type Aborted uint8

const (
	AbortedNone   Aborted = iota // nothing
	AbortedWrites                // their writes, all in one transaction
	AbortedWhole
)

// Initial says what initial values a format has.
type Initial uint8

const (
	InitialZero    Initial = iota // 0, except for keys that the file itself sets to 0 first: see Openings
	InitialVersion                // absence, or 0 where nobody writes 0: see Versions
	InitialNone                   // nothing: every read needs a writer in the file
	InitialAbsent                 // no key exists
	InitialRead                   // absent, but a read can be marked as a read of the initial value
	InitialAny
)

// Origin says what a read can come from.
type Origin uint8

const (
	Anything  Origin = iota
	OrInitial        // writes, or the initial value, but not both
	OneWrite         // exactly one write, or the initial value
)

// Loss is something that a format cannot carry.
type Loss struct {
	What  string // "3 transactions have an unknown outcome"
	First int64  // the id of the first transaction concerned, where First is known
	Known bool
	Done  string // what happens to it, such as "they are left out"
}

// String says what is lost and what happens to it.
func (l Loss) String() string { return l.What + l.where() + ": " + l.Done }

func (l Loss) where() string {
	if !l.Known {
		return ""
	}
	return fmt.Sprintf(", first transaction %d", l.First)
}

// Error refuses a conversion that would lose something.
type Error struct {
	Format string
	Losses []Loss
	Remedy string
}

// Error names all losses, on one line.
func (e *Error) Error() string {
	var all []string
	for _, l := range e.Losses {
		all = append(all, l.What+l.where())
	}
	return fmt.Sprintf("the format %s cannot carry this: %s. %s", e.Format, strings.Join(all, "; "), e.Remedy)
}

// To returns h as a format that can carry c holds it, what is lost in the conversion, and notes
// on what is lost without consequence. h is not changed; the result shares memory with it.
func To(h *history.History, c Carries) (*history.History, []Loss, []string, error) {
	f := &fitting{h: h, c: c, choices: len(h.AllChoices()) > 0, status: make([]history.Status, len(h.Txns)), apart: map[int]bool{}, drop: map[int]bool{}}
	for i := range h.Txns {
		f.status[i] = h.Txns[i].Status
	}
	f.outcomes()
	f.aborted()
	f.reads()
	f.times()
	f.surveyKeys()
	f.values()
	f.loading()
	f.keys()
	f.numbers()
	f.rest()
	out, err := f.build()
	return out, f.losses, f.notes, err
}

// fitting is the state of one call of To. Operations are identified by their position in AllOps.
type fitting struct {
	h      *history.History
	c      Carries
	losses []Loss
	notes  []string

	status []history.Status // of each transaction, in the result
	gone   map[int]bool     // transactions that are left out
	bare   map[int]bool     // transactions whose reads are left out
	apart  map[int]bool     // transactions that get a session of their own
	drop   map[int]bool     // operations that are left out
	rename map[slot]history.Value
	keyOf  []string // the new names of keys, nil if they stay
	// initialRead are the keys whose initial value is read, for formats that record it only in
	// reads.
	initialRead map[history.Key]bool
	keyUses     []keyUse // by key, where the initial value depends on the file: see survey
	// load are the keys whose initial value is written by an extra transaction: see loading.
	load []history.Key

	newIDs, newSessions, dropTimes bool
	choices                        bool // statements leave choices, which no notation has
}

// slot is a value of a key.
type slot struct {
	key   history.Key
	value history.Value
}

// lose records a loss that concerns n things. The first of them is in the transaction at index
// first; a negative first means no transaction in particular.
func (f *fitting) lose(n, first int, what, done string) {
	if n == 0 {
		return
	}
	l := Loss{What: what, Done: done}
	if first >= 0 {
		l.First, l.Known = f.h.Txns[first].ID, true
	}
	f.losses = append(f.losses, l)
}

// tally counts things and remembers the transaction of the first.
type tally struct{ n, first int }

func (t *tally) add(txn int) {
	if t.n++; t.n == 1 {
		t.first = txn
	}
}
