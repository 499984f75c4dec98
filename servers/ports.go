package servers

import (
	"fmt"
	"math/rand"
	"net"

	"github.com/pkg/errors"
)

// The ports of servers are below those that kernels use for outgoing connections. Otherwise such
// a connection could take a port between its choice and its use.
const (
	lowestPort  = 10_000
	highestPort = 32_767
)

// freePorts finds count different ports on loopback that are not in use.
func freePorts(count int) ([]int, error) {
	var ports []int
	for tries := 0; len(ports) < count; tries++ {
		port := lowestPort + rand.Intn(highestPort-lowestPort+1)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			if tries > 1000 {
				return nil, errors.Wrap(err, "no free port on 127.0.0.1")
			}
			continue
		}
		defer l.Close() // all stay open until all are found, so that they differ
		ports = append(ports, port)
	}
	return ports, nil
}
