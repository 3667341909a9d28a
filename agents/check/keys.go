package check

import (
	"fmt"
	"slices"
)

// Keys looks at the values of a configuration's keys, one after another, and remembers the first that is wrong. The zero value is ready.
type Keys struct{ err error }

// Err is what is wrong, naming the key; nil where nothing is.
func (k *Keys) Err() error { return k.err }

// fail remembers the first failure.
func (k *Keys) fail(format string, args ...any) {
	if k.err == nil {
		k.err = fmt.Errorf(format, args...)
	}
}

// OneOf wants one of some words.
func (k *Keys) OneOf(key, got string, want ...string) {
	if !slices.Contains(want, got) {
		k.fail("%s is %q, want one of %q", key, got, want)
	}
}

// Widths wants numbers of at least 1: a network's hidden layers.
func (k *Keys) Widths(key string, got []int) {
	for i, n := range got {
		if n < 1 {
			k.fail("%s[%d] is %d, want at least 1", key, i, n)
		}
	}
}

// Within wants lo ≤ got ≤ hi.
func (k *Keys) Within(key string, got, lo, hi float64) {
	if !(got >= lo && got <= hi) { // so that NaN fails
		k.fail("%s is %g, want at least %g and at most %g", key, got, lo, hi)
	}
}

// Above wants lo < got ≤ hi.
func (k *Keys) Above(key string, got, lo, hi float64) {
	if !(got > lo && got <= hi) {
		k.fail("%s is %g, want more than %g and at most %g", key, got, lo, hi)
	}
}
