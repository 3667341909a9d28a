package configs

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/internal/lists"
)

//go:embed */*.yaml steps/apps/*.yaml
var shipped embed.FS

//go:embed schema.json
var schema []byte

// Schema returns the JSON Schema of configuration files, with which editors complete and check them. Package schema
// makes it from the code.
func Schema() []byte { return schema }

// Catalog gives the configuration, filled with defaults, that a name stands for: a pointer to a struct with yaml tags.
// An unknown name is an error that says which there are.
type Catalog interface {
	EnvConfig(id string) (any, error)
	AgentConfig(name string) (any, error)
	BaselineConfig(name string) (any, error)
}

// Tables is a [Catalog] of three functions.
type Tables struct {
	Env, Agent, Baseline func(name string) (any, error)
}

// EnvConfig implements [Catalog].
func (t Tables) EnvConfig(id string) (any, error) { return t.Env(id) }

// AgentConfig implements [Catalog].
func (t Tables) AgentConfig(name string) (any, error) { return t.Agent(name) }

// BaselineConfig implements [Catalog].
func (t Tables) BaselineConfig(name string) (any, error) { return t.Baseline(name) }

// Shipped lists the embedded experiments by path.
func Shipped() []string { return embedded(experiment) }

// ShippedApps lists the embedded applications by path ([ReadApp]).
func ShippedApps() []string { return embedded(application) }

// ShippedSteps lists the embedded workflows of steps by path ([ReadSteps]).
func ShippedSteps() []string { return embedded(ofSteps) }

// Kinds of embedded files.
const (
	experiment = iota
	application
	ofSteps
)

func kindOf(p string) int {
	if app, _ := path.Match("variants/app[0-9].yaml", p); app {
		return application
	}
	if path.Dir(p) == "steps/apps" {
		return ofSteps
	}
	return experiment
}

func embedded(kind int) []string {
	var out []string
	// The walk is over an embedded file system, where it can't fail.
	_ = fs.WalkDir(shipped, ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && kindOf(p) == kind && path.Ext(p) == ".yaml" {
			out = append(out, p)
		}
		return err
	})
	return out
}

// Load reads the file at path, or where there is none the shipped experiment of that name (with or without configs/
// before and .yaml behind), applies the settings key=value in order, and checks the whole.
func Load(path string, sets []string, t Catalog) (*Experiment, error) {
	b, err := Read(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, b, sets, t)
}

// maxBytes bounds a file of YAML, which takes some fifty times its size when it is parsed.
const maxBytes = 4 << 20

// maxJobs bounds a file of jobs: JSON, which takes some ten times its size.
const maxJobs = 64 << 20

// ReadFile is os.ReadFile for files of at most maxBytes.
func ReadFile(path string) ([]byte, error) { return readAtMost(path, maxBytes) }

// readAtMost stops reading at a number of bytes: a pipe or a device may have no end.
func readAtMost(path string, most int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if len(b) > most {
		return nil, fmt.Errorf("%s has more than %d MiB (%d bytes), want a file of at most that", path, most>>20, most)
	}
	return b, err
}

// Read returns the text that Load parses.
func Read(path string) ([]byte, error) {
	b, err := ReadFile(path)
	if info, e := os.Stat(path); e == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder, want a configuration's file", path)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return b, err
	}
	name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(path), "configs/"), ".yaml") + ".yaml"
	if b, e := shipped.ReadFile(name); e == nil {
		return b, nil
	}
	bare := lists.From(Shipped(), func(p string) string { return strings.TrimSuffix(p, ".yaml") })
	if near := Nearest(strings.TrimSuffix(name, ".yaml"), bare); near != "" {
		return nil, fmt.Errorf("%w; did you mean %s.yaml?", err, filepath.Join("configs", near))
	}
	list, folder := "", ""
	for _, p := range bare {
		if f := filepath.Dir(p); f != folder {
			list, folder = list+"\n ", f
		}
		list += " " + p
	}
	return nil, fmt.Errorf("%w; these are shipped:%s", err, list)
}

// Parse is Load for a text already read; source names it in errors.
func Parse(source string, text []byte, sets []string, t Catalog) (*Experiment, error) {
	r := reader{lines: map[string]int{}}
	e := Default()
	e.Source, e.Catalog = source, t
	if root := r.document(text); root != nil {
		r.rename(root, &e)
		for _, s := range sets {
			if err := set(root, renamedSetting(s, &e)); err != nil {
				return nil, &Error{source, []Problem{{FromSet, fmt.Sprintf("--set %s: %v", s, err)}}}
			}
		}
		r.rename(root, &e) // of sections that were set whole
		r.decode(root, &e, t)
	}
	if len(r.problems) == 0 {
		e.check(&r)
	}
	if len(r.problems) == 0 && len(e.Eval.Set) > 0 { // found now, not after training
		if _, err := Parse(source, text, slices.Concat(sets, []string{"eval.set=[]"}, e.Eval.Set), t); err != nil {
			var wrong *Error
			if errors.As(err, &wrong) {
				err = errors.New(wrong.Problems[0].Text)
			}
			r.add(r.lines["eval.set"], "eval.set: %v", err)
		}
	}
	if len(r.problems) > 0 {
		return nil, &Error{source, r.problems}
	}
	return &e, nil
}

// reader collects what is wrong with a text, and where its keys stand.
type reader struct {
	problems []Problem
	lines    map[string]int // by dotted key
}

func (r *reader) add(line int, format string, args ...any) {
	r.problems = append(r.problems, Problem{line, fmt.Sprintf(format, args...)})
}

// document returns a text's mapping, nil where it has none.
func (r *reader) document(text []byte) *yaml.Node {
	var doc yaml.Node
	if len(bytes.TrimSpace(text)) == 0 {
		r.add(0, "the file is empty, want at least name, env and agent")
		return nil
	}
	if err := yaml.Load(text, &doc); err != nil {
		r.problems = problems(err)
		return nil
	}
	root := &doc
	if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 {
		root = doc.Content[0]
	}
	if root.Kind != yaml.MappingNode {
		r.add(root.Line, "want keys and values, such as name: my-experiment")
		return nil
	}
	left := maxNodes
	if err := expand(root, &left); err != nil {
		r.add(0, "%v", err)
		return nil
	}
	if k := repeated(root); k != nil {
		r.add(k.Line, "key %s is there twice", k.Value)
		return nil
	}
	return root
}

// decode fills in e. The sections that name their own kind of keys are taken out of root first.
func (r *reader) decode(root *yaml.Node, e *Experiment, t Catalog) {
	r.choose(take(root, "env"), "env", "id", t.EnvConfig, &e.Env)
	r.choose(take(root, "agent"), "agent", "name", presetAgent(t, e.Env.Name), &e.Agent)
	list := take(value(root, "eval"), "baselines")
	if list == nil {
		list = defaultBaselines(t, e.Env.Name)
		e.DefaultBaselines = list != nil
	}
	if list != nil {
		r.baselines(list, e, t)
	}
	if !r.examine(root, reflect.TypeFor[Experiment](), "") {
		return
	}
	e.Wrappers = preset(t, e.Env.Name, e.Agent.Name).wrappers(value(root, "wrappers"))
	if err := root.Load(e); err != nil {
		r.problems = append(r.problems, problems(err)...)
	}
}

// wrappersNamed returns the defaults of the sections that stand in a text, so that an empty one is on.
func wrappersNamed(n *yaml.Node) (w Wrappers) {
	if value(n, "normalize_observation") != nil {
		w.NormalizeObservation.Clip = 10
	}
	if value(n, "normalize_reward") != nil {
		w.NormalizeReward = NormalizeReward{Gamma: 0.99, Clip: 10}
	}
	return w
}

func (r *reader) baselines(n *yaml.Node, e *Experiment, t Catalog) {
	if n.Kind != yaml.SequenceNode {
		if !null(n) {
			r.add(n.Line, "eval.baselines: want a list, such as [{name: fixed}, {name: autoscaler}]")
		}
		return
	}
	e.Eval.Baselines = make([]Choice, len(n.Content))
	for i, c := range n.Content {
		r.choose(c, fmt.Sprintf("eval.baselines[%d]", i), "name", t.BaselineConfig, &e.Eval.Baselines[i])
	}
}

// choose decodes a section that names one of a table's entries under key.
func (r *reader) choose(n *yaml.Node, path, key string, table func(string) (any, error), out *Choice) {
	if n == nil || null(n) {
		r.add(0, "%s is missing, want %s: {%s: …}", path, path, key)
		return
	}
	if n.Kind == yaml.ScalarNode {
		n = named(n, key)
	}
	if n.Kind != yaml.MappingNode {
		r.add(n.Line, "%s: want keys and values, %s among them", path, key)
		return
	}
	name := take(n, key)
	if name == nil {
		r.add(n.Line, "%s.%s is missing", path, key)
		return
	}
	c, err := table(name.Value)
	if err != nil {
		r.add(name.Line, "%s.%s: %v", path, key, err)
		return
	}
	out.Name, out.Config, out.key = name.Value, c, key
	if name.Line == FromSet && r.foreign(n, reflect.TypeOf(c), path, name.Value) {
		return
	}
	if r.examine(n, reflect.TypeOf(c), path+".") {
		if err := n.Load(c); err != nil {
			for _, p := range problems(err) {
				r.add(p.Line, "%s: %s", path, p.Text)
			}
		}
	}
}

// foreign reports, in one problem, the keys of a file's section that what was set in place of the file's name lacks.
func (r *reader) foreign(n *yaml.Node, t reflect.Type, path, name string) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	fields, line, keys := fieldsOf(t), 0, []string(nil)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; fields[k.Value] == nil && k.Line != FromSet {
			if keys == nil {
				line = k.Line
			}
			keys = append(keys, k.Value)
		}
	}
	if keys != nil {
		r.add(line, "%s: the file has keys that %s does not have: %s. To leave out the whole section %[1]s of the file: "+
			"--set %[1]s=%[2]s. Keys of %[2]s: %[4]s", path, name, strings.Join(keys, ", "),
			strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
	}
	return keys != nil
}

// named is the mapping that a bare name stands for.
func named(n *yaml.Node, key string) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line,
		Content: []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: key, Line: n.Line}, n}}
}

// problems turns the decoder's error into problems with lines.
func problems(err error) []Problem {
	var many *yaml.LoadErrors
	if errors.As(err, &many) {
		var out []Problem
		for _, e := range many.Errors {
			out = append(out, problems(e)...)
		}
		return out
	}
	var one *yaml.LoadError
	if errors.As(err, &one) {
		return []Problem{{one.Mark.Line, one.Message}}
	}
	return []Problem{{0, err.Error()}}
}
