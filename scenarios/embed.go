// Package scenarios is data: the catalogue of known anomalies and bugs, each
// with the recipe that shows it and the verdict that must come out. Package
// catalogue reads it.
package scenarios

import "embed"

// Files are the scenarios (*.yaml) and recorded histories (*.txt).
//
//go:embed catalogue figure5 figures found regressions table1
var Files embed.FS
