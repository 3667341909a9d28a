package lists

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Values come in the order of the list, and from nothing comes nil.
func TestFrom(t *testing.T) {
	if got := From([]int{3, 1, 2}, strconv.Itoa); !slices.Equal(got, []string{"3", "1", "2"}) {
		t.Errorf("got %q", got)
	}
	if got := From(nil, strconv.Itoa); got != nil {
		t.Errorf("from nothing comes %#v, want nil", got)
	}
}

// The first error ends it, and nothing comes with it.
func TestTry(t *testing.T) {
	if got, err := Try([]string{"3", "1"}, strconv.Atoi); err != nil || !slices.Equal(got, []int{3, 1}) {
		t.Errorf("got %d, %v", got, err)
	}
	if got, err := Try([]string{"3", "a", "b"}, strconv.Atoi); got != nil || err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("got %d, %v, want the error of a alone", got, err)
	}
}

// A value is made from its place.
func TestMake(t *testing.T) {
	if got := Make(3, func(i int) int { return i * i }); !slices.Equal(got, []int{0, 1, 4}) {
		t.Errorf("got %d", got)
	}
	if got := Make(0, strconv.Itoa); got == nil || len(got) > 0 {
		t.Errorf("no values are %#v, want an empty list", got)
	}
}

// Each value is there once, where it first came, and the list stays as it is.
func TestDistinct(t *testing.T) {
	all := []string{"b", "a", "b", "c", "a"}
	if got := Distinct(all); !slices.Equal(got, []string{"b", "a", "c"}) || fmt.Sprint(all) != "[b a b c a]" {
		t.Errorf("got %q from %q", got, all)
	}
}
