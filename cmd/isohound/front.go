//go:build front

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// With the build tag front this program has only the commands that need neither a
// database nor a chart, and becomes the complete program, which lies beside it, for
// all others. Go initialises each package that is linked in before main starts:
// the clients of the databases and the fonts of the charts take three times as
// long for that as all else.

// completeName is the file name of the complete program.
const completeName = "isohound-full"

// here are the commands that this program has, and what makes each.
var here = map[string]func(a *app) *cobra.Command{
	"check": (*app).checkCommand, "explain": (*app).explainCommand, "convert": (*app).convertCommand, "synth": (*app).synthCommand,
	"--version": nil, "-v": nil,
}

// completion are the options of shells' completion, a command of the complete program.
var completion = cobra.CompletionOptions{DisableDefaultCmd: true}

// handOver becomes the complete program where that is needed. It returns where
// this program does.
func handOver(args []string) {
	needed := true
	if len(args) > 1 {
		_, has := here[args[1]]
		needed = !has
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
		err = syscall.Exec(complete, append([]string{complete}, args[1:]...), os.Environ())
	}
	if needed {
		fmt.Fprintf(os.Stderr, "isohound: cannot start %s, which has this command: %v; ./run.sh COMMAND builds it\n", complete, err)
		os.Exit(int(exitUnavailable))
	}
}

// wantsGPU reports whether reachability may be computed on a GPU: one is asked for,
// or the machine has one and the choice is free. This program cannot open it.
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

// running is what a command that drives a database would keep.
type running struct{}

// commands is the one that is called: the complete program has the list.
func (a *app) commands(args []string) []*cobra.Command {
	if build := here[args[0]]; build != nil {
		return []*cobra.Command{build(a)}
	}
	return nil
}
