//go:build !front

package cli

import "strings"

// once refuses a list of a flag in which a name stands twice: it would be measured, and printed, twice.
func once(flag string, names []string) error {
	seen := map[string]bool{}
	for _, name := range names {
		name = strings.TrimSpace(name)
		if seen[name] {
			return usage("%s: %s stands there twice", flag, name)
		}
		seen[name] = true
	}
	return nil
}
