// Package embedtest tests the etcd driver against etcd's own server, embedded. It is a separate
// module, so that isohound does not depend on the server's many dependencies:
//
//	cd drivers/etcd/embedtest && go test ./...
package embedtest
