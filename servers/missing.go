package servers

// MissingPostgres names the package that is missing for starting PostgreSQL here, or "".
func MissingPostgres() string {
	return missing("postgresql", "/usr/lib/postgresql/*/bin", "initdb")
}

// MissingMariaDB is the same for MariaDB.
func MissingMariaDB() string {
	return missing("mariadb-server", "/usr/sbin", "mariadb-install-db", "mariadbd")
}

// MissingFirebird is the same for Firebird.
func MissingFirebird() string {
	if pkg := missing(firebirdPackage, "/usr/sbin", "firebird", "isql-fb"); pkg != "" {
		return pkg
	}
	if _, err := firebirdRoot(); err != nil {
		return firebirdPackage
	}
	return ""
}

// MissingEtcd is the same for etcd.
func MissingEtcd() string { return missing(etcdPackage, "/usr/bin", "etcd") }

func missing(pkg, glob string, programs ...string) string {
	for _, name := range programs {
		if _, err := find(name, "", glob); err != nil {
			return pkg
		}
	}
	return ""
}

// MissingGalera is the same for a Galera cluster.
func MissingGalera() string {
	if pkg := MissingMariaDB(); pkg != "" {
		return pkg
	}
	if _, err := galeraProvider(); err != nil {
		return galeraPackage
	}
	if _, err := find("rsync", "rsync"); err != nil {
		return "rsync"
	}
	return ""
}
