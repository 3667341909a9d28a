package libtorch

import (
	"fmt"
	"regexp"
	"strconv"
)

// A release is a torch release number without its build suffix.
type release struct{ major, minor, patch int }

var releaseForm = regexp.MustCompile(`^v?(\d+)\.(\d+)\.(\d+)(?:[-+.a-z].*)?$`)

// parseRelease reads "2.11.0", with or without a suffix such as "+cu130".
func parseRelease(text string) (release, error) {
	m := releaseForm.FindStringSubmatch(text)
	if m == nil {
		return release{}, fmt.Errorf("%q is no release number; one looks like %s", text, DefaultRelease)
	}
	var r release
	for i, p := range []*int{&r.major, &r.minor, &r.patch} {
		n, err := strconv.Atoi(m[i+1])
		if err != nil {
			return release{}, fmt.Errorf("%q is no release number: %w", text, err)
		}
		*p = n
	}
	return r, nil
}

func (r release) String() string { return fmt.Sprintf("%d.%d.%d", r.major, r.minor, r.patch) }

// sameRelease compares two releases and ignores their build suffixes.
func sameRelease(a, b string) bool {
	ra, errA := parseRelease(a)
	rb, errB := parseRelease(b)
	return errA == nil && errB == nil && ra == rb
}
