//go:build front

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// With the build tag front this program has only the commands that need neither a database nor a
// chart. For all others it executes the complete program, which is in the same folder. The
// reason is the start time: Go initialises each linked package before main starts, and for the
// database clients and the chart fonts this takes three times as long as for everything else.

// here are the commands of this program, with their constructors.
var here = map[string]func(a *app) *cobra.Command{
	"check": (*app).checkCommand, "explain": (*app).explainCommand, "convert": (*app).convertCommand, "synth": (*app).synthCommand,
	"--version": nil, "-v": nil,
}

// completion are the options of shell completion, a command of the complete program.
var completion = cobra.CompletionOptions{DisableDefaultCmd: true}

// handOver replaces this program by the complete one if that is needed. It returns if this
// program runs the command.
func handOver(args []string) {
	needed := true
	if len(args) > 1 {
		_, has := here[args[1]]
		needed = !has
	}
	if slices.ContainsFunc(args, func(a string) bool { return a == "--pages" || strings.HasPrefix(a, "--pages=") }) {
		needed = true // the pages are in the complete program
	}
	if !needed && !wantsGPU(args) {
		return
	}
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	complete := filepath.Join(filepath.Dir(self), completeName)
	if err == nil {
		err = execute(complete, args[1:])
	}
	if needed {
		fmt.Fprintf(os.Stderr, "isohound: cannot start %s, which has this command: %v; ./run.sh COMMAND builds it\n", complete, err)
		os.Exit(int(exitUnavailable))
	}
}

// wantsGPU reports whether a GPU may be used for reachability: the user requested it, or the
// machine has one and the user made no choice. This program cannot open it.
func wantsGPU(args []string) bool {
	for n, arg := range args {
		if value, ok := strings.CutPrefix(arg, "--accel="); ok {
			return value == "cuda"
		}
		if arg == "--accel" && n+1 < len(args) {
			return args[n+1] == "cuda"
		}
	}
	for _, device := range []string{"/dev/nvidiactl", "/dev/dxg"} {
		if _, err := os.Stat(device); err == nil {
			return true
		}
	}
	return false
}

// paged would draw the pages of violated windows. The complete program does.
func (j *windowJudge) paged() func() error { return func() error { return nil } }

// running would be the state of a command that uses a database.
type running struct{}

// commands returns the command that is called. The complete program has the list.
func (a *app) commands(args []string) []*cobra.Command {
	if build := here[args[0]]; build != nil {
		return []*cobra.Command{build(a)}
	}
	return nil
}
