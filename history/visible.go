package history

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Visible is the snapshot of a transaction as PostgreSQL tells it: a set of transactions, by the database's own numbers
// (Record.DBTxn). It is no position: which transactions are in it need not follow the order of their numbers. Numbers of
// transactions that aborted mean nothing. It must not be changed: records and histories share it.
type Visible struct {
	// Min: all transactions with lower numbers had ended. It is at least 1.
	Min int64
	// Max: no transaction with this number or a higher one is in the snapshot. It is at least Min.
	Max int64
	// Open are the transactions from Min to Max that had not ended, ascending.
	Open []int64
}

// NewVisible returns the snapshot with these numbers: Min, Max, and those in Open. The list, of two or more, must not be
// changed afterwards.
func NewVisible(list []int64) *Visible {
	s := &Visible{Min: list[0], Max: list[1]}
	if len(list) > 2 {
		s.Open = list[2:]
	}
	return s
}

// Has reports whether the transaction with a number, if it committed, is in the snapshot. Number 0 is not known, and
// is not in it.
func (s *Visible) Has(number int64) bool {
	switch {
	case number <= 0 || number >= s.Max:
		return false
	case number < s.Min:
		return true
	}
	_, open := slices.BinarySearch(s.Open, number)
	return !open
}

// String is the snapshot in PostgreSQL's notation: 812:820:815,817.
func (s *Visible) String() string {
	b := strconv.AppendInt(nil, s.Min, 10)
	b = strconv.AppendInt(append(b, ':'), s.Max, 10)
	sep := byte(':')
	for _, n := range s.Open {
		b = strconv.AppendInt(append(b, sep), n, 10)
		sep = ','
	}
	if sep == ':' {
		b = append(b, sep)
	}
	return string(b)
}

// ParseVisible is the inverse of String.
func ParseVisible(text string) (*Visible, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return nil, fmt.Errorf("%q is no snapshot, such as 812:820:815,817", text)
	}
	numbers := parts[:2:2]
	if parts[2] != "" {
		numbers = append(numbers, strings.Split(parts[2], ",")...)
	}
	list := make([]int64, len(numbers))
	for i, word := range numbers {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no snapshot: %q is no number of a transaction", text, word)
		}
		list[i] = n
	}
	s := NewVisible(list)
	return s, s.check()
}

func (s *Visible) check() error {
	if s.Min < 1 || s.Max < s.Min {
		return fmt.Errorf("it goes from %d to %d", s.Min, s.Max)
	}
	last := s.Min - 1
	for _, n := range s.Open {
		if n <= last || n >= s.Max {
			return errors.New("the transactions in progress are not in ascending order between its ends")
		}
		last = n
	}
	return nil
}
