package level

import "slices"

// weaker lists, for each level, the levels directly below it: they allow everything that it allows.
// Linearizability judges each key alone and other transactions, so it is not comparable. A new
// level needs a line here.
var weaker = map[Level][]Level{
	WFR:      {RU},
	MW:       {RU},
	MR:       {RU},
	RYW:      {RU},
	Session:  {RYW, MR, MW, WFR},
	RC:       {RU},
	RA:       {RC, RYW},
	CC:       {RA, Session},
	PC:       {CC},
	PSI:      {CC},
	SINoSO:   {RU},
	SI:       {SINoSO, PC, PSI},
	StrongSI: {SI},
	SERNoSO:  {SINoSO},
	SER:      {SERNoSO, SI},
	SSER:     {SER, StrongSI},
}

// Implies reports whether m allows every history that l allows. A level implies itself.
func (l Level) Implies(m Level) bool {
	return l == m || slices.ContainsFunc(weaker[l], func(w Level) bool { return w.Implies(m) })
}

// Weakest returns the levels of a list that imply no other one of it, in the
// order of All.
func Weakest(list []Level) []Level {
	return extremes(list, func(l, other Level) bool { return l.Implies(other) })
}

// Strongest returns the levels of a list that no other one of it implies, in
// the order of All.
func Strongest(list []Level) []Level {
	return extremes(list, func(l, other Level) bool { return other.Implies(l) })
}

// Descending sorts a list so that no level comes after one that it implies.
func Descending(list []Level) []Level {
	var out []Level
	for rest := slices.Clone(list); len(rest) > 0; {
		top := Strongest(rest)
		out = append(out, top...)
		rest = slices.DeleteFunc(rest, func(l Level) bool { return slices.Contains(top, l) })
	}
	return out
}

func extremes(list []Level, beaten func(l, by Level) bool) []Level {
	var out []Level
	for _, l := range All() {
		if slices.Contains(list, l) && !slices.ContainsFunc(list, func(by Level) bool { return by != l && beaten(l, by) }) {
			out = append(out, l)
		}
	}
	return out
}
