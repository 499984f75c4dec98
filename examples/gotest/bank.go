// Package bank is an application with a database of its own: accounts, and transfers between them.
package bank

import (
	"errors"
	"runtime"
	"sync"
)

// ErrConflict says that a transfer had no effect because another one came first.
var ErrConflict = errors.New("another transfer came first")

// Bank keeps balances with the number of their last change.
type Bank struct {
	mu       sync.Mutex
	accounts map[string]Account
	// Careless makes it forget to look whether an account has changed since it was read.
	Careless bool
}

// Account is a balance, and the number of the transfer that left it.
type Account struct{ Balance, Version int }

// New returns a bank whose accounts hold 100 each.
func New(names ...string) *Bank {
	b := &Bank{accounts: map[string]Account{}}
	for _, n := range names {
		b.accounts[n] = Account{100, 0}
	}
	return b
}

// Get reads an account.
func (b *Bank) Get(name string) Account {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.accounts[name]
}

// Transfer moves money between accounts that were read before. version is the number of the transfer.
func (b *Bank) Transfer(from, to string, sender, receiver Account, amount, version int) error {
	runtime.Gosched() // others may come first
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.Careless && (b.accounts[from] != sender || b.accounts[to] != receiver) {
		return ErrConflict
	}
	b.accounts[from] = Account{sender.Balance - amount, version}
	b.accounts[to] = Account{receiver.Balance + amount, version}
	return nil
}
