package hashed_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/isohound/isohound/history/hashed"
)

// TestTexts compares a table of texts, and a clone that goes its own way, with maps.
func TestTexts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var texts hashed.Texts
	numbers, buf := map[string]int{}, []byte{}
	add := func(texts *hashed.Texts, numbers map[string]int, text string) {
		t.Helper()
		buf = append(buf[:0], text...) // the buffer is overwritten by the next text
		n, known := texts.Add(buf)
		was, knew := numbers[text]
		if !knew {
			was = len(numbers)
			numbers[text] = was
		}
		if n != was || known != knew || texts.Text(n) != text || texts.Len() != len(numbers) {
			t.Fatalf("%.20q is %d, %t; want %d, %t", text, n, known, was, knew)
		}
	}
	draw := func() string {
		text := fmt.Sprint(rng.IntN(20_000))
		if rng.IntN(50) == 0 {
			text = strings.Repeat(text, 1+rng.IntN(5000))
		}
		return text
	}
	add(&texts, numbers, "")
	for range 30_000 {
		add(&texts, numbers, draw())
	}
	clone, cloned := texts.Clone(), map[string]int{}
	for text, n := range numbers {
		cloned[text] = n
	}
	for range 5000 {
		add(&texts, numbers, "one "+draw())
		add(&clone, cloned, "two "+draw())
	}
	for text, n := range numbers {
		if texts.Text(n) != text {
			t.Fatalf("%d is %.20q, and was %.20q", n, texts.Text(n), text)
		}
	}
	for text, n := range cloned {
		if clone.Text(n) != text {
			t.Fatalf("%d of the clone is %.20q, and was %.20q", n, clone.Text(n), text)
		}
	}
}
