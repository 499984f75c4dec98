//go:build !front

package cli

import (
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/faults"
	"github.com/isohound/isohound/servers"

	_ "github.com/isohound/isohound/drivers/badger"
	_ "github.com/isohound/isohound/drivers/bbolt"
	_ "github.com/isohound/isohound/drivers/sim"
	_ "github.com/isohound/isohound/workloads/append"
	_ "github.com/isohound/isohound/workloads/blindw"
	_ "github.com/isohound/isohound/workloads/ctwitter"
	_ "github.com/isohound/isohound/workloads/fromfile"
	_ "github.com/isohound/isohound/workloads/general"
	_ "github.com/isohound/isohound/workloads/lwt"
	_ "github.com/isohound/isohound/workloads/mini"
	_ "github.com/isohound/isohound/workloads/register"
	_ "github.com/isohound/isohound/workloads/rubis"
	_ "github.com/isohound/isohound/workloads/scan"
	_ "github.com/isohound/isohound/workloads/skew"
	_ "github.com/isohound/isohound/workloads/tpcc"
	_ "github.com/isohound/isohound/workloads/ycsbt"
)

// completion are the options of shell completion. completions.go has the values.
var completion cobra.CompletionOptions

// handOver does nothing, because this program has every command. See front.go.
func handOver([]string) {}

// running is the state of a command that uses a database.
type running struct {
	// others are the endpoints of the database after the first, while it is open.
	others []drivers.DB
	// faults are the proxies of the endpoints, if faults are requested.
	faults *faults.Set
	// begun is when the sessions started.
	begun atomic.Pointer[time.Time]
	// server is the private server of the run, if one was started.
	server servers.Server
	// metrics are served while the run goes on, if asked for.
	metrics *metrics
}

// commands returns the commands of this program.
func (a *app) commands([]string) []*cobra.Command {
	list := []*cobra.Command{a.runCommand(), a.genCommand(), a.synthCommand(), a.checkCommand(), a.explainCommand(), a.convertCommand(),
		a.driversCommand(), a.workloadsCommand(), a.reportCommand(), a.huntCommand(), a.scenariosCommand(), a.benchCommand(), a.cleanCommand(), a.manCommand()}
	list = append(list, a.natsCommands()...)
	for _, c := range list {
		completeValues(c)
	}
	return list
}
