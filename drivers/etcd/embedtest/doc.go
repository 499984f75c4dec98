// Package embedtest tests the etcd driver against etcd's own server, embedded.
// It is a module of its own so that the server's many dependencies are none of
// isohound's:
//
//	cd drivers/etcd/embedtest && go test ./...
package embedtest
