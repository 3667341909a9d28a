package configs

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// renamed are keys that had another name before. One without a name of today is left out: instead says what decides now.
var renamed = []struct{ section, was, is, instead string }{
	{"eval", "rivals", "baselines", ""},
	{"train", "copies", "envs", ""},
	{"eval", "tolerance", "", "verdicts go by eval.relative_tolerance, a part of the other policy's violations"},
}

// rename gives the keys of a text their names of today, and tells of each in e.Renamed. A key that stands there under
// both names is a problem.
func (r *reader) rename(root *yaml.Node, e *Experiment) {
	for _, k := range renamed {
		section := value(root, k.section)
		i := place(section, k.was)
		if i < 0 {
			continue
		}
		was := section.Content[i]
		at := fmt.Sprintf("%s:%d", e.Source, was.Line)
		if was.Line == FromSet {
			at = "--set"
		}
		if k.is == "" {
			section.Content = slices.Delete(section.Content, i, i+2)
			e.Renamed = append(e.Renamed, fmt.Sprintf("%s: %s.%s is not used: %s", at, k.section, k.was, k.instead))
			continue
		}
		if value(section, k.is) != nil {
			r.add(was.Line, "%s.%s is the former name of %[1]s.%[3]s, and both are there: leave out %[1]s.%[2]s", k.section, k.was, k.is)
			continue
		}
		was.Value = k.is
		e.Renamed = append(e.Renamed, fmt.Sprintf("%s: %s.%s is called %[2]s.%[4]s now", at, k.section, k.was, k.is))
	}
}

// renamedSetting is a setting key=value with the key's name of today.
func renamedSetting(s string, e *Experiment) string {
	for _, k := range renamed {
		was := k.section + "." + k.was
		rest, ok := strings.CutPrefix(strings.TrimSpace(s), was)
		if ok && k.is != "" && strings.IndexAny(rest, "=.[ ") == 0 {
			e.Renamed = append(e.Renamed, fmt.Sprintf("--set %s: the key is called %s.%s now", s, k.section, k.is))
			return k.section + "." + k.is + rest
		}
	}
	return s
}
