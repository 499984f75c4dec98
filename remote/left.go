package remote

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/pkg/errors"
)

// Left is what the server has of a run.
type Left struct {
	Run   string
	About About // zero if the run is of an older isohound
	// Alive says that the run answers.
	Alive bool
	// Waiting is the number of windows that no judge has judged, Files that of files and Bytes their size, Keys that
	// of verdicts and of states for judges.
	Waiting, Files, Keys int
	Bytes                uint64
	// Latest is when the latest of these was written.
	Latest time.Time
}

// Runs returns all runs of which the server has something, the latest first.
func (c *Conn) Runs(ctx context.Context) ([]Left, error) {
	alive, err := c.answers(ctx, areAlive, "")
	if err != nil {
		return nil, err
	}
	all := map[string]*Left{}
	of := func(run string, at time.Time) *Left {
		l := all[run]
		if l == nil {
			l = &Left{Run: run}
			all[run] = l
		}
		if at.After(l.Latest) {
			l.Latest = at
		}
		return l
	}
	ctx, cancel := context.WithTimeout(ctx, transferTime)
	defer cancel()
	if err := c.eachKey(ctx, of); err != nil {
		return nil, c.explain(err)
	}
	objects, err := c.objects.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, c.explain(err)
	}
	for _, o := range objects {
		run, _, _ := strings.Cut(o.Name, "/")
		l := of(run, o.ModTime)
		l.Files++
		l.Bytes += o.Size
	}
	info, err := c.queue.Info(ctx, jetstream.WithSubjectFilter(queueSubject+">"))
	if err != nil {
		return nil, c.explain(err)
	}
	for subject, n := range info.State.Subjects {
		run, _, _ := strings.Cut(strings.TrimPrefix(subject, queueSubject), ".")
		of(run, time.Time{}).Waiting += int(n)
	}
	out := make([]Left, 0, len(all))
	for _, l := range all {
		l.Alive = slices.Contains(alive, l.Run)
		out = append(out, *l)
	}
	slices.SortFunc(out, func(a, b Left) int { return b.Latest.Compare(a.Latest) })
	return out, nil
}

// eachKey adds the keys of runs to what is known of them.
func (c *Conn) eachKey(ctx context.Context, of func(string, time.Time) *Left) error {
	watch, err := c.keys.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return err
	}
	defer watch.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e := <-watch.Updates():
			if e == nil { // all that there are
				return nil
			}
			if run, isAbout := strings.CutPrefix(e.Key(), aboutKey("")); isAbout {
				_ = json.Unmarshal(e.Value(), &of(run, e.Created()).About)
				continue
			}
			run, _, _ := strings.Cut(e.Key(), ".")
			of(run, e.Created()).Keys++
		}
	}
}

// Drop removes all that the server has of a run.
func (c *Conn) Drop(ctx context.Context, run string) error {
	if strings.ContainsAny(run, ".*>/ \t") || run == "" {
		return &NoRunError{"\"" + run + "\" is not the name of a run"}
	}
	ctx, cancel := context.WithTimeout(ctx, transferTime)
	defer cancel()
	if err := c.queue.Purge(ctx, jetstream.WithPurgeSubject(queueSubject+run+".>")); err != nil {
		return c.explain(err)
	}
	objects, err := c.objects.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return c.explain(err)
	}
	for _, o := range objects {
		if !strings.HasPrefix(o.Name, run+"/") {
			continue
		}
		if err := c.objects.Delete(ctx, o.Name); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
			return c.explain(err)
		}
	}
	keys, err := c.js.Stream(ctx, "KV_"+bucket)
	for _, subject := range []string{run + ".>", aboutKey(run)} {
		if err == nil {
			err = keys.Purge(ctx, jetstream.WithPurgeSubject("$KV."+bucket+"."+subject))
		}
	}
	if err != nil {
		return c.explain(err)
	}
	return nil
}
