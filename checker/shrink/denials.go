package shrink

import "github.com/isohound/isohound/history"

// denials has, by key, the values whose denied tokens were gone through. Nearly every write of a key provides each of these
// tokens, and nearly every denying read of the key needs what a write provides. So the first one goes through all but those of
// its value, the second one, of another value, through the rest, and no later one finds anything.
type denials map[history.Key]denial

type denial struct {
	value history.Value
	all   bool
}

// news reports whether going through a denied token, or one that a write of this value provides, can find something that
// was not found before.
func (d denials) news(k history.Key, v history.Value) bool {
	before, known := d[k]
	if known && (before.all || before.value == v) {
		return false
	}
	d[k] = denial{v, known}
	return true
}
