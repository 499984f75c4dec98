// Package docker calls the docker command: it asks the daemon, gets images, and removes containers that an isohound left
// behind when it was killed.
package docker

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
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

// Label is the argument of docker create that marks a container as this process's, for Sweep.
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

// Sweep removes the containers with a Label whose process has ended without removing them. It leaves alone those of other
// machines and of other process namespaces, about whose processes nothing is known here. It returns how many it removed.
func Sweep(ctx context.Context) (int, error) {
	listed, err := Do(ctx, Answer, nil, "ps", "--all", "--quiet", "--no-trunc", "--filter", "label="+ownerLabel)
	if err != nil || listed == "" {
		return 0, err
	}
	removed := 0
	for _, id := range strings.Fields(listed) {
		owner, err := Do(ctx, Answer, nil, "inspect", "--format", `{{index .Config.Labels "`+ownerLabel+`"}}`, id)
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
		if err := Remove(ctx, id); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// place tells process ids apart that mean different processes.
func place() string {
	host, _ := os.Hostname()
	space, _ := os.Readlink("/proc/self/ns/pid") // Linux only; pid:[4026531836]
	return strings.NewReplacer("/", "-", "=", "-").Replace(host + space)
}
