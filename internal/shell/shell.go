// Package shell writes arguments as a shell takes them, for commands that are printed to be copied and for scripts.
package shell

import (
	"strings"
	"unicode"

	"github.com/stoker-rl/stoker/internal/lists"
)

// Quote is a word, in quotes where a shell would change it.
func Quote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("-_./:@%+,=", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Line is a command's words.
func Line(words []string) string {
	return strings.Join(lists.From(words, Quote), " ")
}
