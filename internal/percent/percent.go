// Package percent reads percentages that people type.
package percent

import (
	"fmt"
	"strconv"
	"strings"
)

// Parse reads a percentage from 0 to 100, with or without its sign. A number between 0 and 1 needs the sign: 0.5 may mean a half or
// 0.5%.
func Parse(text string) (float64, error) {
	number, signed := strings.CutSuffix(text, "%")
	p, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil || !(p >= 0 && p <= 100):
		return 0, fmt.Errorf("expected a percentage from 0 to 100")
	case !signed && p > 0 && p < 1:
		return 0, fmt.Errorf("expected a percentage with its sign, %s%% or %s%%", strconv.FormatFloat(p*100, 'g', 10, 64), number)
	}
	return p, nil
}
