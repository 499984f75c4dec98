// Package docker calls the docker command: it asks the daemon, gets images, and removes containers that an isohound left
// behind when it was killed.
package docker

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"
)

const (
	// Answer bounds a question to the daemon.
	Answer = 10 * time.Second
	// End bounds what waits for a container to end.
	End = 30 * time.Second
	// pull bounds getting an image.
	pull = 20 * time.Minute
	// poll is the interval of Await.
	poll = 200 * time.Millisecond
)

// ownerLabel names the process that started a container.
const ownerLabel = "isohound.owner"

// Available returns why docker cannot be used here, nil if it can.
func Available(ctx context.Context) error {
	if _, err := exec.LookPath("docker"); err != nil {
		return errors.New("there is no program docker here")
	}
	_, err := Do(ctx, Answer, nil, "version", "--format", "{{.Server.Version}}")
	return errors.Wrap(err, "the daemon does not answer")
}

// Do runs a command of docker, and returns what it printed, without spaces at the ends. The error has the last line of its
// messages.
func Do(ctx context.Context, limit time.Duration, in io.Reader, args ...string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := exec.CommandContext(limited, "docker", args...)
	apart(c)
	var out, msg bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = in, &out, &msg
	if err := c.Run(); err != nil {
		switch said := LastLine(msg.String()); {
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case limited.Err() != nil:
			err = errors.Errorf("no answer within %s", limit)
		case said != "":
			err = errors.New(said)
		}
		return "", errors.Wrap(err, "docker "+args[0])
	}
	return strings.TrimSpace(out.String()), nil
}

// LastLine is the last line of a text, which has the error.
func LastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// Image gets an image that is not here yet: it builds it from the text of a Dockerfile, or fetches it if there is none.
// note is told which.
func Image(ctx context.Context, image, dockerfile string, note func(string)) error {
	if _, err := Do(ctx, Answer, nil, "image", "inspect", image); err == nil {
		return nil
	}
	if dockerfile != "" {
		note("building " + image)
		_, err := Do(ctx, pull, strings.NewReader(dockerfile), "build", "--tag", image, "-")
		return err
	}
	note("fetching " + image)
	_, err := Do(ctx, pull, nil, "pull", "--quiet", image)
	return err
}

// Volumes are the folders that an image declares as volumes, in order.
func Volumes(ctx context.Context, image string) ([]string, error) {
	text, err := Do(ctx, Answer, nil, "image", "inspect", "--format", "{{range $path, $_ := .Config.Volumes}}{{println $path}}{{end}}", image)
	if err != nil {
		return nil, err
	}
	return strings.Fields(text), nil
}

// Label is the argument of docker create that marks a container, or a network, as this process's, for Sweep.
func Label() string { return "--label=" + ownerLabel + "=" + place() + "/" + strconv.Itoa(os.Getpid()) }

// Remove removes a container with its data.
func Remove(ctx context.Context, id string) error {
	_, err := Do(ctx, End, nil, "rm", "--force", "--volumes", id)
	return err
}

// Logs returns the last lines of a container's log.
func Logs(ctx context.Context, id string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, Answer)
	defer cancel()
	c := exec.CommandContext(ctx, "docker", "logs", "--tail", "50", id)
	apart(c)
	out, err := c.CombinedOutput() // of both streams
	return string(out), errors.Wrap(err, "docker logs")
}

// Await repeats f until it succeeds, ctx ends, or one of the containers, whose ids are given by name, has ended.
func Await(ctx context.Context, containers map[string]string, f func(context.Context) error) error {
	for {
		limited, cancel := context.WithTimeout(ctx, End)
		err := f(limited)
		cancel()
		if err == nil {
			return nil
		}
		for name, id := range containers {
			if runs, lost := Running(ctx, id); lost == nil && !runs {
				return errors.Errorf("%s has ended (%v)", name, err)
			}
		}
		select {
		case <-ctx.Done():
			return errors.Wrap(err, context.Cause(ctx).Error())
		case <-time.After(poll):
		}
	}
}

// Kill ends all processes of a container with SIGKILL. It may have ended by itself.
func Kill(ctx context.Context, id string) error {
	_, err := Do(ctx, End, nil, "kill", id)
	if err != nil {
		if runs, lost := Running(ctx, id); lost == nil && !runs {
			return nil
		}
	}
	return err
}

// gone matches what docker and podman say of a container that is not there any more.
var gone = regexp.MustCompile("(?i)no such (object|container)")

// Running reports whether a container's process runs. It does not if there is no such container any more. The error says
// that the daemon does not answer.
func Running(ctx context.Context, id string) (bool, error) {
	state, err := Do(ctx, Answer, nil, "inspect", "--format", "{{.State.Running}}", id)
	if err != nil && gone.MatchString(err.Error()) {
		return false, nil
	}
	return state == "true", err
}

// Sweep removes the containers and networks with a Label whose process has ended without removing them. It leaves alone
// those of other machines and of other process namespaces, about whose processes nothing is known here. note is told how
// many it removed, and what it could not remove, which is no reason not to go on.
func Sweep(ctx context.Context, note func(string)) {
	sweep(ctx, note, "containers", []string{"ps", "--all"}, "{{index .Config.Labels %q}}", func(id string) error { return Remove(ctx, id) })
	sweep(ctx, note, "networks", []string{"network", "ls"}, "{{index .Labels %q}}", func(id string) error {
		_, err := Do(ctx, End, nil, "network", "rm", id)
		return err
	})
}

func sweep(ctx context.Context, note func(string), what string, list []string, label string, remove func(id string) error) {
	listed, err := Do(ctx, Answer, nil, append(list, "--quiet", "--no-trunc", "--filter", "label="+ownerLabel)...)
	if err != nil {
		note(fmt.Sprintf("%s that killed isohounds may have left are not removed: %v", what, err))
		return
	}
	removed := 0
	for _, id := range strings.Fields(listed) {
		inspect := []string{"inspect", "--format", fmt.Sprintf(label, ownerLabel), id}
		owner, err := Do(ctx, Answer, nil, inspect...)
		if err != nil {
			continue // it has gone meanwhile
		}
		n := strings.LastIndex(owner, "/")
		if n < 0 || owner[:n] != place() {
			continue
		}
		pid, err := strconv.Atoi(owner[n+1:])
		if err != nil || alive(pid) {
			continue
		}
		if err := remove(id); err != nil {
			note(fmt.Sprintf("%s that a killed isohound left is not removed: %v", id, err))
			continue
		}
		removed++
	}
	if removed > 0 {
		note(fmt.Sprintf("%s removed that killed isohounds had left: %d", what, removed))
	}
}

// place tells process ids apart that mean different processes.
func place() string {
	host, _ := os.Hostname()
	space, _ := os.Readlink("/proc/self/ns/pid") // Linux only; pid:[4026531836]
	return strings.NewReplacer("/", "-", "=", "-").Replace(host + space)
}
