package fit

import "strconv"

// Unsigned reports whether text is a decimal integer of 64 bits without sign,
// in its only spelling.
func Unsigned(text string) bool {
	n, err := strconv.ParseUint(text, 10, 64)
	return err == nil && strconv.FormatUint(n, 10) == text
}

// Signed reports whether text is a decimal integer of 64 bits with sign, in
// its only spelling.
func Signed(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == text
}

// NotNegative reports whether text is both.
func NotNegative(text string) bool { return Signed(text) && text[0] != '-' }
