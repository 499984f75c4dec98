package fit

import "strconv"

// Unsigned reports whether text is an unsigned 64-bit decimal integer in its canonical spelling.
func Unsigned(text string) bool {
	n, err := strconv.ParseUint(text, 10, 64)
	return err == nil && strconv.FormatUint(n, 10) == text
}

// Signed reports whether text is a signed 64-bit decimal integer in its canonical spelling.
func Signed(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == text
}

// NotNegative reports whether text is both Signed and not negative.
func NotNegative(text string) bool { return Signed(text) && text[0] != '-' }
