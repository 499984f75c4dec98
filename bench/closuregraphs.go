package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/internal/group"
)

// ClosureWorkload is a workload with whose histories closures are measured.
type ClosureWorkload struct {
	Name string
	// Flags select it in isohound gen.
	Flags []string
}

// ClosureWorkloads are the workloads of section 5.2 of the Vbox paper without predicates, and
// the mix BL of the VeriStrong paper.
var ClosureWorkloads = []ClosureWorkload{
	{"BlindW-WR", []string{"--workload", "blindw", "-p", "variant=WR"}},
	{"ycsbt-BL", []string{"--workload", "ycsbt", "-p", "preset=BL"}},
	{"TPC-C", []string{"--workload", "tpcc"}},
	{"BlindW-WH", []string{"--workload", "blindw", "-p", "variant=WH"}},
	{"BlindW-RH", []string{"--workload", "blindw", "-p", "variant=RH"}},
	{"C-Twitter", []string{"--workload", "ctwitter"}},
}

// ClosureNames are the default workloads for measuring closures, CompactNames those of Figure 8
// of the Vbox paper.
var (
	ClosureNames = []string{"BlindW-WR", "ycsbt-BL", "TPC-C"}
	CompactNames = []string{"BlindW-WH", "BlindW-WR", "BlindW-RH", "C-Twitter", "TPC-C"}
)

// GraphSpec specifies a known graph.
type GraphSpec struct {
	// Path is a history. If it is empty, a history of that many transactions is recorded.
	Path     string
	Workload ClosureWorkload
	Txns     int
	// Sessions is the number of sessions of the history. 0 means a level without session order,
	// on a history of UsualSessions sessions.
	Sessions int
	Level    level.Level
}

// UsualSessions is the number of sessions if the graph has no session order.
const UsualSessions = 24

// GraphFacts describe a known graph.
type GraphFacts struct {
	History string `json:"history"`
	Level   string `json:"level"`
	// Sessions is the number of sessions in the history, or 0 without session order.
	Sessions int `json:"sessions"`
	Txns     int `json:"txns"`
	Vertices int `json:"vertices"`
	Edges    int `json:"edges"`
	Inferred int `json:"inferred_edges"`
	// Chains is the number of paths of a cover: the one that the backend chains found, else the
	// sessions of the history, 0 if none is known.
	Chains      int  `json:"chains"`
	Intervals   bool `json:"intervals"`
	LongestPath int  `json:"longest_path"`
}

// KnownGraph is a graph to measure on.
type KnownGraph struct {
	GraphFacts
	Graph *accel.Graph
	// More are the edges that saturation infers, if they are not in Graph.
	More []accel.Edge
}

func (f *GraphFacts) String() string {
	return fmt.Sprintf("%s at %s: %s transactions, %s, %s vertices, %s edges", f.History, f.Level, humanize.Comma(int64(f.Txns)), f.sessions(),
		humanize.Comma(int64(f.Vertices)), humanize.Comma(int64(f.Edges)))
}

func (f *GraphFacts) sessions() string {
	switch f.Sessions {
	case 0:
		return "each its own session"
	case 1:
		return "1 session"
	}
	return humanize.Comma(int64(f.Sessions)) + " sessions"
}

// Recorder records histories with isohound gen, on Badger in memory, and keeps them in a folder.
type Recorder struct {
	Command  string // the path of isohound
	Folder   string
	Seed     int64
	Progress func(line string)
}

// Graph returns the graph of a spec. With infer it contains the edges of saturation; otherwise
// they are separate.
func (r *Recorder) Graph(ctx context.Context, s GraphSpec, infer bool) (*KnownGraph, error) {
	k, err := r.known(ctx, &s, infer)
	if err != nil {
		return nil, err
	}
	g := r.describe(&s, k)
	if infer {
		g.More, g.Graph = nil, withEdges(k.Graph, k.Inferred)
		g.Edges = len(g.Graph.From)
	}
	return g, nil
}

// GraphAndMore returns the graph of a spec, with the edges of saturation separate.
func (r *Recorder) GraphAndMore(ctx context.Context, s GraphSpec) (*KnownGraph, error) {
	k, err := r.known(ctx, &s, true)
	if err != nil {
		return nil, err
	}
	return r.describe(&s, k), nil
}

func (r *Recorder) known(ctx context.Context, s *GraphSpec, infer bool) (*polygraph.Known, error) {
	path := s.Path
	if path == "" {
		var err error
		if path, err = r.record(ctx, s); err != nil {
			return nil, err
		}
	}
	h, err := file.Load(ctx, path, file.Auto, nil)
	if err != nil {
		return nil, err
	}
	if s.Path != "" {
		s.Sessions = h.SessionCount()
		if !s.Level.SessionOrder() {
			s.Sessions = 0
		}
	}
	k, err := polygraph.KnownGraph(ctx, h, s.Level, infer)
	return k, errors.Wrap(err, path)
}

func (r *Recorder) describe(s *GraphSpec, k *polygraph.Known) *KnownGraph {
	g := &KnownGraph{Graph: k.Graph, More: k.Inferred}
	g.GraphFacts = GraphFacts{History: s.Workload.Name, Level: s.Level.String(), Sessions: s.Sessions, Txns: k.Txns, Vertices: int(k.Graph.Len()),
		Edges: len(k.Graph.From), Inferred: len(k.Inferred), Intervals: k.Graph.Intervals != nil}
	if s.Path != "" {
		g.History = filepath.Base(s.Path)
	}
	if k.Graph.Cover != nil {
		g.Chains = int(k.Graph.Cover.Count)
	}
	return g
}

func withEdges(g *accel.Graph, more []accel.Edge) *accel.Graph {
	edges := make([]accel.Edge, 0, len(g.From)+len(more))
	for v := range g.Len() {
		for _, u := range g.Into(v) {
			edges = append(edges, accel.Edge{From: u, To: v})
		}
	}
	out := accel.NewGraph(g.Len(), append(edges, more...))
	out.Cover, out.Intervals, out.Sources = g.Cover, g.Intervals, g.Sources
	return out
}

// record records the history of a spec, unless the folder already has it, and returns its path.
func (r *Recorder) record(ctx context.Context, s *GraphSpec) (string, error) {
	sessions := s.Sessions
	if sessions == 0 {
		sessions = min(UsualSessions, s.Txns)
	}
	each := (s.Txns + sessions - 1) / sessions
	path := filepath.Join(r.Folder, fmt.Sprintf("%s-%dx%d-seed%d.jsonl.zst", s.Workload.Name, sessions, each, r.Seed))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	half := filepath.Join(r.Folder, fmt.Sprintf(".recording-%d.jsonl.zst", os.Getpid()))
	defer os.Remove(half)
	os.Remove(half)
	args := slices.Concat([]string{"gen", "--driver", "badger", "--history", half, "--quiet", "--no-progress", "--retries", strconv.Itoa(untilCommitted),
		"--sessions", strconv.Itoa(sessions), "--txns", strconv.Itoa(each), "--seed", strconv.FormatInt(r.Seed, 10)}, s.Workload.Flags)
	cmd := exec.CommandContext(ctx, r.Command, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	group.Lead(cmd) // else ctrl-C would reach it twice
	var msg bytes.Buffer
	cmd.Stderr = &msg
	begun := time.Now()
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		text := strings.TrimPrefix(strings.TrimSpace(msg.String()), "isohound: ")
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() > 0 && text != "" {
			return "", &CheckError{s.Workload.Name, exit.ExitCode(), text}
		}
		return "", errors.Wrapf(err, "recording %s: %s", s.Workload.Name, text)
	}
	if r.Progress != nil {
		r.Progress(fmt.Sprintf("recorded %s: %d sessions of %d transactions, seed %d, in %.1f s", s.Workload.Name, sessions, each, r.Seed, time.Since(begun).Seconds()))
	}
	return path, errors.WithStack(os.Rename(half, path))
}

// longestPath returns the number of vertices on the longest path of a graph, without its
// intervals. This many rows must be computed one after another.
func longestPath(g *accel.Graph, order []int32) int {
	depth := make([]int32, g.Len())
	most := int32(0)
	for _, v := range order {
		for _, u := range g.Into(v) {
			depth[v] = max(depth[v], depth[u]+1)
		}
		most = max(most, depth[v]+1)
	}
	return int(most)
}
