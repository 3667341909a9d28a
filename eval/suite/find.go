package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/configs"
)

// Find returns the suite of a name. An unknown one is an error that names the nearest and all that there are.
func Find(list []Suite, name string) (Suite, error) {
	var known []string
	for _, s := range list {
		if s.Name == name {
			return s, nil
		}
		known = append(known, s.Name)
	}
	slices.Sort(known)
	near := configs.Nearest(name, known)
	if near != "" {
		near = fmt.Sprintf(" did you mean %q?", near)
	}
	return Suite{}, fmt.Errorf("no suite %q;%s there are: %s", name, near, strings.Join(known, ", "))
}
