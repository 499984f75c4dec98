package explain

import (
	"fmt"
	"strings"
)

// What brief leaves of a text: all of it up to maxBrief letters, else elements of a list or letters at both ends. The
// end of a list has what was appended last.
const (
	maxBrief                 = 80
	headElements             = 3
	tailElements             = 4 // what stands after the last comma is one
	headLetters, tailLetters = 36, 24
)

// brief shortens a long value, and says how much is left out.
func brief(text string) string {
	letters := []rune(text)
	if len(letters) <= maxBrief {
		return text
	}
	list := strings.Split(text, ",")
	if more := len(list) - headElements - tailElements; more > 0 {
		short := fmt.Sprintf("%s,… %d more …,%s", strings.Join(list[:headElements], ","), more, strings.Join(list[len(list)-tailElements:], ","))
		if len([]rune(short)) <= maxBrief {
			return short
		}
	}
	return fmt.Sprintf("%s… %d more letters …%s", string(letters[:headLetters]), len(letters)-headLetters-tailLetters, string(letters[len(letters)-tailLetters:]))
}
