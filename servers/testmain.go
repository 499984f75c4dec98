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

// Main runs tests with one private server, and puts it into at. It is for TestMain, and returns the exit code.
func Main[S Server](m interface{ Run() int }, at *S, start func(...Option) (S, error), opts ...Option) int {
	s, err := start(opts...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer s.Stop()
	*at = s
	return m.Run()
}
