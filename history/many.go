package history

import "fmt"

// Many says "1 read is" or "3 reads are" in notes.
func Many(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
