package sqlite

import (
	"modernc.org/sqlite"

	"github.com/isohound/isohound/drivers"
)

// Positions implements drivers.Positioner.
func (d *db) Positions() string { return "commits in the order of SQLite's commit hook" }

// hook numbers the commits of the session. SQLite calls the hook during the commit of a transaction that changed
// something, while the transaction still holds the only write lock of the file. So the numbers are in the order of
// the commits. A commit that fails afterwards wastes its number.
func (s *session) hook() error {
	if !s.db.positions {
		return nil
	}
	return s.c.Raw(func(conn any) error {
		conn.(sqlite.HookRegisterer).RegisterCommitHook(func() int32 {
			s.position = s.db.commits.Add(1)
			return 0
		})
		return nil
	})
}

// Position implements drivers.Positioned. SQLite does not say which commits a snapshot has.
func (x tx) Position() drivers.Position { return drivers.Position{Commit: x.s.position} }
