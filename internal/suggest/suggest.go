// Package suggest finds the word that was probably meant by a misspelt one.
package suggest

import (
	"fmt"
	"strings"
)

// Closest returns the word of known that was probably meant: one that differs in few letters, or begins alike. It is ""
// if there is none. Capital letters make no difference.
func Closest(word string, known []string) string {
	best, least := "", min(len(word), len(word)/3+2)
	low := strings.ToLower(word)
	for _, k := range known {
		other := strings.ToLower(k)
		far := Distance(low, other)
		if len(low) >= 3 && (strings.HasPrefix(other, low) || strings.HasPrefix(low, other)) {
			far = min(far, 2)
		}
		if far < least {
			best, least = k, far
		}
	}
	return best
}

// Meant is the end of an error about a misspelt word: the question whether the closest one was meant, or "".
func Meant(word string, known []string) string {
	best := Closest(word, known)
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// Distance is the number of bytes to insert, remove, change or exchange with the next one that make b of a.
func Distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0:
				rows[i][j] = j
			case j == 0:
				rows[i][j] = i
			default:
				cost := 1
				if a[i-1] == b[j-1] {
					cost = 0
				}
				rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
				}
			}
		}
	}
	return rows[len(a)][len(b)]
}
