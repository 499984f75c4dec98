package cli

import (
	"fmt"
	"sync"

	"github.com/isohound/isohound/checker/budget"
)

var memoryUsage = fmt.Sprintf("memory limit, such as 2GiB, above which the verdict is unknown; 0 or none is no limit (default %d%% of the free memory, or of what a container leaves)", budget.FreeShare)

// freeMemory is the default limit. It is computed at the first judgement, because a run needs
// memory for the database before, and leaves garbage after.
var freeMemory = sync.OnceValue(budget.Default)

// parseMemory reads the limit of --max-memory. The default limit is not computed yet; see
// memoryLimit.
func parseMemory(text string) (budget.Limit, error) {
	if text == "" {
		return budget.Limit{Default: true}, nil
	}
	if text == "none" {
		return budget.Limit{}, nil
	}
	n, err := parseSize("max-memory", text)
	return budget.Limit{Bytes: n}, err
}

// memoryLimit returns the limit in bytes.
func (c *checking) memoryLimit() budget.Limit {
	if c.memory.Default {
		return freeMemory()
	}
	return c.memory
}
