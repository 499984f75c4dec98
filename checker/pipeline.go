package checker

import (
	"github.com/pkg/errors"

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
