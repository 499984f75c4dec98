package sqlreplay

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
)

// Postgres connects to PostgreSQL.
func Postgres(dsn string) func(context.Context) (Client, error) {
	return func(ctx context.Context) (Client, error) {
		c, err := pgx.Connect(ctx, dsn)
		return postgres{c}, err
	}
}

type postgres struct{ c *pgx.Conn }

func (p postgres) Close() { p.c.Close(context.Background()) }

func (p postgres) Query(ctx context.Context, text string) (out [][]string, err error) {
	results, err := p.c.PgConn().Exec(ctx, text).ReadAll()
	for _, r := range results {
		for _, row := range r.Rows {
			var texts []string
			for _, v := range row {
				if v == nil {
					v = []byte("null")
				}
				texts = append(texts, string(v))
			}
			out = append(out, texts)
		}
	}
	return out, err
}

// MariaDB connects to a database of a MariaDB or TiDB server with isohound's DSN, and makes the database first.
func MariaDB(dsn, database string) func(context.Context) (Client, error) {
	_, dsn, _ = strings.Cut(dsn, "://")
	user, address, _ := strings.Cut(dsn, "@")
	address, _, _ = strings.Cut(address, "/")
	return func(ctx context.Context) (Client, error) {
		db, err := sql.Open("mysql", user+"@tcp("+address+")/")
		if err != nil {
			return nil, err
		}
		c, err := db.Conn(ctx)
		if err != nil {
			db.Close()
			return nil, err
		}
		m := mariadb{db, c}
		for _, text := range []string{"CREATE DATABASE IF NOT EXISTS " + database, "USE " + database} {
			if _, err := c.ExecContext(ctx, text); err != nil {
				m.Close()
				return nil, err
			}
		}
		return m, nil
	}
}

type mariadb struct {
	db *sql.DB
	c  *sql.Conn
}

func (m mariadb) Close() {
	m.c.Raw(func(any) error { return driver.ErrBadConn }) // its transaction ends with it
	m.db.Close()
}

func (m mariadb) Query(ctx context.Context, text string) (out [][]string, err error) {
	rows, err := m.c.QueryContext(ctx, text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		var texts []string
		for _, v := range values {
			if !v.Valid {
				v.String = "null"
			}
			texts = append(texts, v.String)
		}
		out = append(out, texts)
	}
	return out, rows.Err()
}
