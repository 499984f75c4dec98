package history

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/isohound/isohound/history/hashed"
	"github.com/isohound/isohound/history/quote"
)

// Key is the dense number of a key; Symbols.KeyName gives its name.
type Key int32

// Value is what a key holds. Integers are represented by themselves. Every other JSON scalar is
// interned and gets a number in a separate range at the bottom of the int64 range;
// Symbols.ValueText returns its text.
type Value int64

const (
	// Absent is the value of a key that does not exist.
	Absent Value = math.MinInt64
	// textBase is the first number of interned texts. Integers below MinInt
	// are interned too, so the ranges never meet.
	textBase Value = math.MinInt64 + 1
	// versionBase is the first number of values that History.ByVersion tells apart.
	versionBase Value = math.MinInt64 + 1<<32
	// MinInt is the least integer that is represented by itself.
	MinInt Value = math.MinInt64 + 1<<33

	unset Value = MinInt - 1
)

// Symbols are the names behind the numbers of a history: keys, values that are not integers, and
// sessions. They also hold the initial value of every key.
type Symbols struct {
	*names
	// versions are the values that stand for one version of a key, which others with the same text do not; see
	// History.ByVersion.
	versions  []valueVersion
	versionOf map[valueVersion]Value
}

// valueVersion is a value that a commit gave a key.
type valueVersion struct {
	value  Value // none of versions
	commit int64
}

// names are shared by the histories that History.ByVersion makes of one.
type names struct {
	keyTexts   hashed.Texts                     // names that are not numbers
	textKeys   []Key                            // by number in keyTexts
	numbered   []Key                            // by name, if it is a small number: the key plus 1
	large      hashed.Table[hashed.Number, Key] // by name, if it is a larger number
	keyNames   []keyName
	texts      hashed.Texts // the values that are not integers
	sessionIDs map[int64]int32
	sessions   []int64

	// DefaultInitial is the initial value of every key without its own.
	DefaultInitial Value
	initial        []Value
}

// keyName is the name of a key: a number, or an index of keyTexts. Histories have many keys with
// numbers for names, and few of these names are ever printed.
type keyName struct {
	number uint64
	isText bool
}

// NewSymbols returns an empty table in which every key is initially absent.
func NewSymbols() *Symbols {
	return &Symbols{names: &names{
		sessionIDs:     map[int64]int32{},
		DefaultInitial: Absent,
	}}
}

// Clone returns a table with the same values and the same keys, renamed by name. The new names
// must differ. The table has no sessions, and every key is initially absent.
func (s *Symbols) Clone(name func(Key) string) *Symbols {
	c := NewSymbols()
	for k := range s.keyNames {
		c.Key(name(Key(k)))
	}
	c.texts, c.versions, c.versionOf = s.texts.Clone(), slices.Clone(s.versions), maps.Clone(s.versionOf)
	return c
}

// Key returns the number of the key called name, and adds the key if it is new.
func (s *Symbols) Key(name string) Key { return s.KeyBytes([]byte(name)) }

// HasFences reports whether some key is a fence.
func (s *Symbols) HasFences() bool {
	for k := range s.keyNames {
		if s.IsFence(Key(k)) {
			return true
		}
	}
	return false
}

// IsFence reports whether the key's name begins with Fence.
func (s *Symbols) IsFence(k Key) bool {
	name := s.keyNames[k]
	return name.isText && strings.HasPrefix(s.keyTexts.Text(int(name.number)), Fence)
}

// KeyBytes is Key for a name that the caller may overwrite afterwards.
func (s *Symbols) KeyBytes(name []byte) Key {
	if n, ok := number(name); ok {
		return s.KeyNumber(n)
	}
	n, known := s.keyTexts.Add(name)
	if !known {
		s.textKeys = append(s.textKeys, s.addKey(keyName{uint64(n), true}))
	}
	return s.textKeys[n]
}

// KeyNumber is Key for a name that is a number, in decimal.
func (s *Symbols) KeyNumber(n uint64) Key {
	if n < maxNumbered {
		return s.numberedKey(int(n))
	}
	k, known := s.large.At(hashed.Number(n))
	if !known {
		*k = s.addKey(keyName{number: n})
	}
	return *k
}

// ExpectKeys makes room for that many keys whose names are small numbers.
func (s *Symbols) ExpectKeys(keys int) {
	s.keyNames = slices.Grow(s.keyNames, keys)
	s.numbered = slices.Grow(s.numbered, keys)
}

// ExpectHashes makes room for that many keys whose names are large numbers.
func (s *Symbols) ExpectHashes(keys int) {
	s.large.Expect(keys)
	s.keyNames = slices.Grow(s.keyNames, keys)
}

// maxNumbered bounds the names that are looked up in a table, without hashing.
const maxNumbered = 4_000_000

// number reads a name that is a number, as strconv.FormatUint writes it.
func number[T string | []byte](name T) (n uint64, ok bool) {
	if len(name) == 0 || len(name) > 20 || name[0] == '0' && len(name) > 1 {
		return 0, false
	}
	for i := range len(name) {
		c := uint64(name[i] - '0')
		if c > 9 || i == 19 && (n > math.MaxUint64/10 || n == math.MaxUint64/10 && c > math.MaxUint64%10) {
			return 0, false
		}
		n = 10*n + c
	}
	return n, true
}

func (s *Symbols) numberedKey(n int) Key {
	if n >= len(s.numbered) {
		s.numbered = slices.Grow(s.numbered, n+1-len(s.numbered))[:n+1]
	}
	if k := s.numbered[n]; k > 0 {
		return k - 1
	}
	k := s.addKey(keyName{number: uint64(n)})
	s.numbered[n] = k + 1
	return k
}

func (s *Symbols) addKey(name keyName) Key {
	k := Key(len(s.keyNames))
	s.keyNames = append(s.keyNames, name)
	return k
}

// KeyCount returns the number of keys; keys are numbered from 0.
func (s *Symbols) KeyCount() int { return len(s.keyNames) }

// KeyName returns the name of k.
func (s *Symbols) KeyName(k Key) string {
	if n := s.keyNames[k]; !n.isText {
		return strconv.FormatUint(n.number, 10)
	}
	return s.keyTexts.Text(int(s.keyNames[k].number))
}

// Session returns the dense number of the session recorded as name.
func (s *Symbols) Session(name int64) int32 {
	if id, ok := s.sessionIDs[name]; ok {
		return id
	}
	id := int32(len(s.sessions))
	s.sessionIDs[name] = id
	s.sessions = append(s.sessions, name)
	return id
}

// SessionCount returns the number of sessions.
func (s *Symbols) SessionCount() int { return len(s.sessions) }

// SessionName returns the number under which a session was recorded.
func (s *Symbols) SessionName(id int32) int64 { return s.sessions[id] }

// Int returns the value that stands for n.
func (s *Symbols) Int(n int64) Value {
	if Value(n) >= MinInt {
		return Value(n)
	}
	return s.Raw(strconv.FormatInt(n, 10))
}

// String returns the value of the text t.
func (s *Symbols) String(t string) Value { return s.RawBytes(quote.Append(nil, t)) }

// Raw interns a JSON scalar by its text: a quoted string, a number that is
// not an int64, true or false. Equal texts are equal values.
func (s *Symbols) Raw(scalar string) Value { return s.RawBytes([]byte(scalar)) }

// RawBytes is Raw for a text that the caller may overwrite afterwards.
func (s *Symbols) RawBytes(scalar []byte) Value {
	n, _ := s.texts.Add(scalar)
	return textBase + Value(n)
}

// ValueText returns v as a JSON scalar; Absent is null.
func (s *Symbols) ValueText(v Value) string {
	return string(s.AppendValue(nil, v))
}

// AppendValue appends ValueText(v) to b.
func (s *Symbols) AppendValue(b []byte, v Value) []byte {
	switch {
	case v >= MinInt:
		return strconv.AppendInt(b, int64(v), 10)
	case v == Absent:
		return append(b, "null"...)
	case v >= versionBase:
		return s.AppendValue(b, s.versions[v-versionBase].value)
	default:
		return append(b, s.texts.Text(int(v-textBase))...)
	}
}

// SetInitial gives k its own initial value.
func (s *Symbols) SetInitial(k Key, v Value) {
	if int(k) >= len(s.initial) { // room for all known keys, since more will likely follow
		s.initial = slices.Grow(s.initial, max(cap(s.keyNames), int(k)+1)-len(s.initial))
	}
	for len(s.initial) <= int(k) {
		s.initial = append(s.initial, unset)
	}
	s.initial[k] = v
}

// HasInitial reports whether k has its own initial value.
func (s *Symbols) HasInitial(k Key) bool { return int(k) < len(s.initial) && s.initial[k] != unset }

// Initial returns the value of k before any transaction.
func (s *Symbols) Initial(k Key) Value {
	if s.HasInitial(k) {
		return s.initial[k]
	}
	return s.DefaultInitial
}

// OwnInitials calls f for each key with its own initial value, in the order of keys.
func (s *Symbols) OwnInitials(f func(Key, Value) error) error {
	for k, v := range s.initial {
		if v == unset {
			continue
		}
		if err := f(Key(k), v); err != nil {
			return err
		}
	}
	return nil
}
