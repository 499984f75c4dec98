package servers

import (
	"fmt"
	"os"
)

// Both runs tests with a private PostgreSQL and a private MariaDB. It puts their DSNs into dsn,
// by the names of their drivers. It is for TestMain, and returns the exit code.
func Both(m interface{ Run() int }, dsn map[string]string) int {
	pg, err := StartPostgres()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer pg.Stop()
	my, err := StartMariaDB()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer my.Stop()
	dsn["postgres"], dsn["mariadb"] = pg.DSN(), my.DSN()
	return m.Run()
}
