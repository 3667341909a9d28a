package configs

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/bounds"
)

// Problem is one thing wrong with a configuration. Line is its line in the file, 0 where that can't be said, [FromSet]
// for what was set over the file.
type Problem struct {
	Line int
	Text string
}

// FromSet is the line of what is not in the file but was set over it.
const FromSet = -1

// Error is all that is wrong with a configuration.
type Error struct {
	Source   string
	Problems []Problem
}

func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		switch {
		case p.Line > 0:
			lines[i] = fmt.Sprintf("%s:%d: %s", e.Source, p.Line, p.Text)
		case p.Line == FromSet:
			lines[i] = fmt.Sprintf("command line: %s", p.Text)
		default:
			lines[i] = fmt.Sprintf("%s: %s", e.Source, p.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// examine reports every key of n that t has no field for and every value that its field can't hold, and remembers where
// keys stand. It returns whether all is well. path is n's dotted key with a dot behind, empty for the whole.
func (r *reader) examine(n *yaml.Node, t reflect.Type, path string) bool {
	before := len(r.problems)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	key := strings.TrimSuffix(path, ".")
	_, decodes := reflect.New(t).Interface().(yaml.Unmarshaler)
	switch {
	case decodes || t == reflect.TypeFor[Choice]():
	case t.Kind() == reflect.Struct:
		r.mapping(n, t, path, key)
	case t.Kind() == reflect.Slice && n.Kind == yaml.SequenceNode:
		for i, c := range n.Content {
			r.lines[fmt.Sprintf("%s[%d]", key, i)] = c.Line
			r.examine(c, t.Elem(), fmt.Sprintf("%s[%d].", key, i))
		}
	case t.Kind() == reflect.Slice && null(n):
	case n.Kind == yaml.ScalarNode && null(n):
		r.add(n.Line, "%s has no value, want %s", key, want(t))
	default:
		// The decoder's own judgement, in our words.
		if err := n.Load(reflect.New(t).Interface()); err != nil {
			r.add(n.Line, "%s is %s, want %s", key, shown(n), want(t))
		}
	}
	return len(r.problems) == before
}

func (r *reader) mapping(n *yaml.Node, t reflect.Type, path, key string) {
	fields := fieldsOf(t)
	if n.Kind != yaml.MappingNode {
		if !null(n) { // a section whose keys are all left out
			r.add(n.Line, "%s is %s, want keys and values; allowed are %s", key, shown(n), strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
		}
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		ft, ok := fields[k.Value]
		if !ok {
			r.add(k.Line, "unknown key %s%s; %s", path, k.Value, suggest(k.Value, fields))
			continue
		}
		r.lines[path+k.Value] = n.Content[i+1].Line
		r.examine(n.Content[i+1], ft, path+k.Value+".")
	}
}

// want says what a field of type t holds.
func want(t reflect.Type) string {
	if w, ok := reflect.Zero(t).Interface().(interface{ Words() []string }); ok { // a number with words for some values
		return "a number above 0, or " + strings.Join(w.Words(), ", ")
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number of at least 0"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a text"
	case reflect.Slice:
		return "a list, such as [a, b]"
	}
	return "keys and values"
}

// shown is a value as an error shows it.
func shown(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return fmt.Sprintf("%q", n.Value)
}

// fieldsOf maps the YAML names of a struct's fields to their types, inlined structs included.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case !f.IsExported() || name == "-":
		case strings.Contains(opts, "inline"):
			for k, v := range fieldsOf(f.Type) {
				out[k] = v
			}
		case name == "":
			out[strings.ToLower(f.Name)] = f.Type
		default:
			out[name] = f.Type
		}
	}
	return out
}

func suggest(key string, fields map[string]reflect.Type) string {
	names := slices.Sorted(maps.Keys(fields))
	if near := Nearest(key, names); near != "" {
		return fmt.Sprintf("did you mean %s? Allowed here: %s", near, strings.Join(names, ", "))
	}
	if len(names) == 0 {
		return "it has no keys"
	}
	return "allowed here: " + strings.Join(names, ", ")
}

// validator is implemented by the configurations of environments, learners and baselines. What it reports about a key is a
// [bounds.Error].
type validator interface{ Validate() error }

// check reports what is wrong with the values.
func (e *Experiment) check(r *reader) {
	for _, w := range bounds.Wrong(e) {
		if !strings.HasPrefix(w.Key, "workload.") { // it is checked as a whole below
			r.report("", w)
		}
	}
	t, g := &e.Train, &e.Engine
	switch {
	case e.Name == "":
		r.report("", bounds.Errorf("name", "is missing, want a short name for the experiment's runs"))
	case !shortName.MatchString(e.Name):
		r.report("", bounds.Errorf("name", "is %q, want letters, digits, '.', '_' and '-', a letter or digit first", e.Name))
	}
	if n := e.Wrappers.NormalizeReward; n.Gamma != 0 && n.Clip == 0 {
		r.report("", bounds.Errorf("wrappers.normalize_reward.gamma",
			"is %g without a clip, want clip: 10 or so beside it", n.Gamma))
	}
	if t.Evaluate.Every != 0 && t.Evaluate.Episodes < 1 {
		r.report("", bounds.Errorf("train.evaluate.episodes", "is %d, want at least 1", t.Evaluate.Episodes))
	}
	switch {
	case !IsDevice(g.Device):
		r.report("", bounds.Errorf("engine.device", "is %q, want auto, cpu or cuda:N", g.Device))
	case g.Name != "torch" && strings.HasPrefix(g.Device, "cuda"):
		r.report("", bounds.Errorf("engine.device",
			"is %q, want auto or cpu with engine.name %s; CUDA needs torch", g.Device, g.Name))
	}
	if _, err := ParseSeeds(e.Eval.Seeds); err != nil {
		r.add(r.lines["eval.seeds"], "eval.seeds: %v", err)
	}
	r.validate("workload", &e.Workload)
	r.validate("env", e.Env.Config)
	r.validate("agent", e.Agent.Config)
	for i, c := range e.Eval.Baselines {
		r.validate(fmt.Sprintf("eval.baselines[%d]", i), c.Config)
	}
}

// Validate reports all that is wrong with the values, by their keys.
func (e *Experiment) Validate() error {
	r := reader{lines: map[string]int{}}
	if e.check(&r); len(r.problems) > 0 {
		return &Error{e.Source, r.problems}
	}
	return nil
}

// NamePattern is what an experiment's name must be. It leaves room for a seed behind it in a run's name.
const NamePattern = `^[A-Za-z0-9][A-Za-z0-9._-]{0,77}$`

var shortName = regexp.MustCompile(NamePattern)

// validate asks a section's own check; a section that has none is checked against its fields' tags.
func (r *reader) validate(section string, config any) {
	check := func() error { return bounds.Check(config) }
	if v, ok := config.(validator); ok {
		check = v.Validate
	}
	if err := check(); err != nil {
		r.report(section, err)
	}
}

// report adds an error about a section's value, with the line of its key. A key that is not in the file has the line of
// the nearest key around it that is: the list of an element, the section of a field. A value that is a default has no
// line.
func (r *reader) report(section string, err error) {
	var e *bounds.Error
	if !errors.As(err, &e) {
		r.add(0, "%s: %v", section, err)
		return
	}
	key := e.Key
	if section != "" {
		key = section + "." + key
	}
	line, at := 0, key
	for line == 0 && strings.ContainsRune(at[len(section):], '[') {
		line = r.lines[at]
		at = at[:strings.LastIndexByte(at, '[')]
	}
	if line == 0 {
		line = r.lines[at]
	}
	r.add(line, "%s %s", key, e.Text)
}

// IsDevice reports whether d is auto, cpu or cuda:N.
func IsDevice(d string) bool {
	var n int
	if d == "auto" || d == "cpu" {
		return true
	}
	c, err := fmt.Sscanf(d, "cuda:%d", &n)
	return c == 1 && err == nil && n >= 0 && d == fmt.Sprintf("cuda:%d", n)
}

// Nearest returns the name that key was probably meant to be, "" where none is near. It is the one from which key
// differs by the fewest edits, where those are at most a third of key's length and one: letters added, left out,
// replaced, or swapped with their neighbour. Upper case, what comes before the last slash, and a version at the end do
// not count: cartpole is near to stoker/CartPole-v1, and mean_rewrd to eval/mean_reward.
func Nearest(key string, names []string) string {
	best, least := "", len(key)/3+2
	for _, n := range names {
		if d := edits(strings.ToLower(key), strings.ToLower(n)); d < least {
			best, least = n, d
		}
	}
	short := bare(key)
	least = min(least, len(short)/3+2)
	for _, n := range names {
		if d := edits(short, bare(n)); d < least {
			best, least = n, d
		}
	}
	return best
}

// bare is a name in lower case, without maker and version.
func bare(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	if i := strings.LastIndex(name, "-v"); i > 0 {
		name = name[:i]
	}
	return strings.ToLower(name)
}

// edits is the Damerau-Levenshtein distance in which no part is edited twice (optimal string alignment).
func edits(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// ShortKey is the last part of a dotted key, or as many of its last parts as no other of keys ends with.
func ShortKey(key string, keys []string) string {
	parts := strings.Split(key, ".")
	for n := 1; n < len(parts); n++ {
		short := strings.Join(parts[len(parts)-n:], ".")
		if !slices.ContainsFunc(keys, func(o string) bool { return o != key && strings.HasSuffix("."+o, "."+short) }) {
			return short
		}
	}
	return key
}
