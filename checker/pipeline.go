package checker

import (
	"github.com/pkg/errors"

	"github.com/isohound/isohound/accel/choose"
	"github.com/isohound/isohound/checker/polygraph"
)

// ParsePipeline reads a configuration of the polygraph engine and returns it
// with that engine, which it asks for.
func ParsePipeline(text string, engine Engine) (polygraph.Config, Engine, error) {
	c, err := polygraph.ParseConfig(text)
	if err == nil && engine == Linear {
		err = errors.New("a pipeline is of the polygraph engine and goes with no other; leave out --engine linear or --pipeline")
	}
	return c, Polygraph, err
}

// ParseAccel reads how reachability is to be computed, and checks that the engine
// does so.
func ParseAccel(name string, engine Engine) (choose.Choice, error) {
	c, err := choose.Parse(name)
	if err == nil && c != choose.Auto && (engine == Linear || engine == Baseline) {
		err = errors.Errorf("the %s engine computes no reachability that --accel %s could speed up; leave out --engine %s or --accel", engine, c, engine)
	}
	return c, err
}
