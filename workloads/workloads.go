// Package workloads is the registry of workloads. Each workload has its own folder, and
// registers itself with its parameters.
package workloads

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/internal/percent"
	"github.com/isohound/isohound/internal/suggest"
)

// Common are the settings that every workload has. Each has its own flag.
type Common struct {
	// Sessions counts those of all processes of the run.
	Sessions int
	Keys     int64
	Dist     string
	Skew     float64 // 0 is the distribution's default
	// Seed is the seed of the run. It is for what all sessions share, such as an initial state;
	// each session has its own stream of random numbers.
	Seed int64
}

// Param is a parameter of one workload, set with -p name=value.
type Param struct {
	Name, Default, Help string
	// Least, Plain, Weights and All say how a hunt makes a workload smaller that showed a violation. A whole number
	// becomes smaller down to Least, unless that is 0. Plain is the value at which the parameter does nothing. Weights
	// says that the value is a list of weights, from which names can be left out; All is the list for which "all" stands.
	Least   int64
	Plain   string
	Weights bool
	All     []string
}

// Spec describes a workload.
type Spec struct {
	Name    string
	Summary string
	// Source says where the workload comes from.
	Source string
	Params []Param
	// Needs are the required capabilities. Some parameters may require more, see
	// generator.Needer.
	Needs []drivers.Capability
	// Defaults are the settings of Common for this workload if they differ from the general
	// ones: Keys, Sessions, Dist, Skew. Zero means the general default.
	Defaults Common
	// OwnKeys says that the workload decides by itself how many keys there are, so that Keys, Dist
	// and Skew have no effect.
	OwnKeys bool
	// Checks says what is checked in addition to isolation, such as invariants.
	Checks string
	// Engines are the checkers that can judge its histories.
	Engines []string
	// File is the path of the file that describes the workload, and Raw what it held; "" for a workload in Go.
	File string
	Raw  []byte
	// New makes the workload. values has an entry for each of Params.
	New func(c Common, values Values) (generator.Workload, error)
}

// Kind is a kind of workloads that a run describes itself, such as file=shop.yaml.
type Kind struct {
	// Name is what stands before =, and Argument what stands behind it, for people.
	Name, Argument string
	// Open returns the workload that an argument describes. Its Spec.Name is the name with the
	// argument. It may wait for input until ctx ends; with a ctx that never ends it must not wait.
	Open func(ctx context.Context, argument string) (Spec, error)
}

var (
	registry   = map[string]Spec{}
	kinds      = map[string]Kind{}
	registryMu sync.Mutex
)

// RegisterKind registers a kind of workloads under its name.
func RegisterKind(k Kind) {
	registryMu.Lock()
	defer registryMu.Unlock()
	kinds[k.Name] = k
}

// Kinds returns the kinds of workloads by name.
func Kinds() []Kind {
	registryMu.Lock()
	defer registryMu.Unlock()
	var out []Kind
	for _, k := range kinds {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b Kind) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Register registers a workload under its name.
func Register(s Spec) {
	registryMu.Lock()
	defer registryMu.Unlock()
	registry[s.Name] = s
}

// All returns the workloads by name.
func All() []Spec {
	registryMu.Lock()
	defer registryMu.Unlock()
	var out []Spec
	for _, s := range registry {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Spec) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Find is FindContext for those who read a workload several times, or may not wait: a file must be a regular one.
func Find(name string) (Spec, error) { return FindContext(context.Background(), name) }

// FindContext returns the workload called name, or opens the one that name describes: the name of a Kind, =, and
// its argument. A file may be a pipe, whose read ends with ctx.
func FindContext(ctx context.Context, name string) (Spec, error) {
	var names []string
	of, argument, described := strings.Cut(name, "=")
	for _, k := range Kinds() {
		if described && k.Name == of {
			return k.Open(ctx, argument)
		}
		names = append(names, k.Name+"="+k.Argument)
	}
	for _, s := range All() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Spec{}, errors.Errorf("unknown workload %q; known are %s%s", name, strings.Join(names, ", "), suggest.Meant(name, names))
}

// Values are a workload's parameters, complete.
type Values map[string]string

// Resolve adds the defaults to the parameters that the user set, each name=value. An unknown
// name is an error.
func (s Spec) Resolve(set []string) (Values, error) {
	v := Values{}
	var names []string
	for _, p := range s.Params {
		v[p.Name] = p.Default
		names = append(names, p.Name)
	}
	for _, pair := range set {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, errors.Errorf("-p %s: expected name=value", pair)
		}
		if _, known := v[name]; !known {
			return nil, errors.Errorf("-p %s: workload %s has no parameter %q; it has %s", pair, s.Name, name, strings.Join(names, ", "))
		}
		v[name] = value
	}
	return v, nil
}

// Percent reads a percentage.
func (v Values) Percent(name string) (float64, error) {
	p, err := percent.Parse(v[name])
	if err != nil {
		return 0, errors.Errorf("-p %s=%s: %v", name, v[name], err)
	}
	return p, nil
}

// Int reads an integer that is at least low.
func (v Values) Int(name string, low int64) (int64, error) {
	n, err := strconv.ParseInt(v[name], 10, 64)
	if err != nil || n < low {
		return 0, errors.Errorf("-p %s=%s: expected a whole number, at least %d", name, v[name], low)
	}
	return n, nil
}

// Duration reads a duration such as 2ms, not negative.
func (v Values) Duration(name string) (time.Duration, error) {
	if v[name] == "0" {
		return 0, nil
	}
	d, err := time.ParseDuration(v[name])
	if err != nil || d < 0 {
		return 0, errors.Errorf("-p %s=%s: expected a duration such as 2ms", name, v[name])
	}
	return d, nil
}

// OneOf reads one of several words.
func (v Values) OneOf(name string, words ...string) (string, error) {
	if slices.Contains(words, v[name]) {
		return v[name], nil
	}
	return "", errors.Errorf("-p %s=%s: expected one of %s", name, v[name], strings.Join(words, ", "))
}
