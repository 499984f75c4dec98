// Package fromfile makes workloads of YAML files, without Go: tables, initial rows, and weighted
// transactions of statements. The statements look like SQL, but are not sent as they are: each is
// one of the operations on tables that drivers have and generator records. What would not be recorded
// completely is refused, with what to write instead. docs/workload-files.md describes the format.
//
// The files of the package are lex.go and parse.go (the language), yaml.go (strict reading, and the
// places of errors), tables.go, draw.go, values.go, steps.go and rows.go (their compilation),
// program.go (what a transaction does), describe.go (what a file would run, for people).
package fromfile

import (
	"context"
	"fmt"
	"iter"
	"math/rand"
	"os"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/internal/infile"
	"github.com/isohound/isohound/workloads"
)

// Kind is what stands before the path of a file in the name of a workload: file=shop.yaml.
const Kind = "file"

func init() {
	workloads.RegisterKind(workloads.Kind{Name: Kind, Argument: "FILE.yaml", Open: Open})
}

// mixParam is the parameter with the weights of the transactions.
const mixParam = "mix"

// Open reads a file and describes its workload. The error names all places in the file that are wrong,
// one a line, as path:line:column. What is not a regular file is read until ctx ends, and refused if ctx never ends.
func Open(ctx context.Context, path string) (workloads.Spec, error) {
	if info, err := os.Stat(path); err == nil && ctx.Done() == nil && !info.Mode().IsRegular() {
		return workloads.Spec{}, errors.Errorf("--workload file=%s: it is not a regular file, and is read more than once; write it to a file first", path)
	}
	raw, err := infile.ReadText(ctx, path)
	if err != nil {
		return workloads.Spec{}, errors.Wrap(err, "--workload file=FILE")
	}
	c, err := compile(path, raw, 0, nil)
	if err != nil {
		return workloads.Spec{}, err
	}
	spec := workloads.Spec{
		Name: Kind + "=" + path, Summary: c.about, Source: path, File: path, Raw: raw,
		Needs: c.needs(), OwnKeys: true, Engines: []string{"polygraph"},
	}
	if spec.Summary == "" {
		spec.Summary = "transactions of a file"
	}
	var weights []string
	for i, t := range c.txns {
		weights = append(weights, fmt.Sprintf("%s:%d", t.name, c.weights[i]))
	}
	spec.Params = append(spec.Params, workloads.Param{Name: mixParam, Default: strings.Join(weights, ","), Help: "weights of the transactions; one that is not named does not occur", Weights: true})
	for _, name := range keys(c.params) {
		spec.Params = append(spec.Params, workloads.Param{Name: name, Default: strconv.FormatInt(c.params[name], 10), Help: "parameter of the file"})
	}
	spec.New = func(common workloads.Common, v workloads.Values) (generator.Workload, error) {
		return create(path, raw, common, v)
	}
	return spec, nil
}

// create makes the workload with the values of its parameters.
func create(path string, raw []byte, common workloads.Common, v workloads.Values) (generator.Workload, error) {
	set := map[string]int64{}
	for name, value := range v {
		if name == mixParam {
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return nil, errors.Errorf("-p %s=%s: expected a whole number", name, value)
		}
		set[name] = n
	}
	c, err := compile(path, raw, common.Seed, set)
	if err != nil {
		return nil, err
	}
	c.seen, c.lines, c.root = nil, nil, nil
	w := &workload{compiler: c, sessions: int64(max(common.Sessions, 1)), named: map[string]*transaction{}}
	var kinds []string
	for _, t := range c.txns {
		kinds = append(kinds, t.name)
		w.named[t.name] = t
	}
	w.mix, err = v.Mix(mixParam, kinds...)
	return w, err
}

// workload is a compiled file.
type workload struct {
	*compiler
	sessions int64
	mix      *workloads.Mix
	named    map[string]*transaction
}

// Initial implements generator.Workload: there are no keys outside the tables.
func (w *workload) Initial() iter.Seq2[string, int64] { return func(func(string, int64) bool) {} }

// Schema implements generator.Tables.
func (w *workload) Schema() schema.Schema { return w.schema }

// Rows implements generator.Tables. The rows depend only on the seed.
func (w *workload) Rows() iter.Seq2[*schema.Table, schema.Row] {
	return func(yield func(*schema.Table, schema.Row) bool) {
		for _, in := range w.rows {
			for row := range in.all(rand.New(rand.NewSource(w.seed))) {
				if !yield(in.table.Table, row) {
					return
				}
			}
		}
	}
}

// Idle implements generator.Idle.
func (w *workload) Idle() string { return w.idle(w.mix.Draws) }
