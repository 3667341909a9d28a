package configs

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"
)

//go:embed */*.yaml
var shipped embed.FS

// Tables give the configuration, filled with defaults, that a name stands for: a pointer to a struct with yaml tags.
type Tables struct {
	Env, Agent, Rival func(name string) (any, error)
}

// Shipped lists the embedded experiments by path.
func Shipped() []string {
	var out []string
	// The walk is over an embedded file system, where it can't fail.
	_ = fs.WalkDir(shipped, ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, p)
		}
		return err
	})
	return out
}

// Load reads the file at path, or where there is none the shipped experiment of that name (with or without configs/ before
// and .yaml behind), applies the settings key=value in order, and checks the whole.
func Load(path string, sets []string, t Tables) (*Experiment, error) {
	b, err := read(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, b, sets, t)
}

func read(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return b, err
	}
	name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(path), "configs/"), ".yaml") + ".yaml"
	if b, e := shipped.ReadFile(name); e == nil {
		return b, nil
	}
	return nil, fmt.Errorf("%w; shipped experiments: %s", err, strings.Join(Shipped(), ", "))
}

// Parse is Load for a text already read; source names it in errors.
func Parse(source string, text []byte, sets []string, t Tables) (*Experiment, error) {
	var doc yaml.Node
	if err := yaml.Load(text, &doc); err != nil {
		return nil, &Error{source, problems(err)}
	}
	root := &doc
	if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 {
		root = doc.Content[0]
	}
	if root.Kind != yaml.MappingNode {
		return nil, &Error{source, []Problem{{root.Line, "want keys and values, such as name: my-experiment"}}}
	}
	for _, s := range sets {
		if err := set(root, s); err != nil {
			return nil, fmt.Errorf("--set %s: %w", s, err)
		}
	}
	e := Default()
	e.Source = source
	list := unknownKeys(root, reflect.TypeFor[Experiment](), "", nil)
	list = e.resolve(root, t, list)
	if len(list) == 0 {
		if err := root.Load(&e); err != nil {
			list = problems(err)
		}
	}
	if len(list) > 0 {
		return nil, &Error{source, list}
	}
	if err := e.check(); err != nil {
		return nil, &Error{source, []Problem{{0, err.Error()}}}
	}
	return &e, nil
}

// resolve fills the sections that name their own kind of keys, and takes them out of root.
func (e *Experiment) resolve(root *yaml.Node, t Tables, list []Problem) []Problem {
	list = choose(take(root, "env"), "env", "id", t.Env, &e.Env, list)
	list = choose(take(root, "agent"), "agent", "name", t.Agent, &e.Agent, list)
	ev := value(root, "eval")
	rivals := take(ev, "rivals")
	if rivals == nil {
		return list
	}
	if rivals.Kind != yaml.SequenceNode {
		return append(list, Problem{rivals.Line, "eval.rivals: want a list, such as [{name: fixed}, {name: autoscaler}]"})
	}
	e.Eval.Rivals = make([]Choice, len(rivals.Content))
	for i, n := range rivals.Content {
		list = choose(n, fmt.Sprintf("eval.rivals[%d]", i), "name", t.Rival, &e.Eval.Rivals[i], list)
	}
	return list
}

// choose decodes a section that names one of a table's entries under key.
func choose(n *yaml.Node, path, key string, table func(string) (any, error), out *Choice, list []Problem) []Problem {
	if n == nil {
		return append(list, Problem{0, fmt.Sprintf("%s is missing, want %s: {%s: …}", path, path, key)})
	}
	if n.Kind == yaml.ScalarNode { // a bare name
		n = &yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: key}, n}}
	}
	if n.Kind != yaml.MappingNode {
		return append(list, Problem{n.Line, fmt.Sprintf("%s: want keys and values, %s among them", path, key)})
	}
	name := take(n, key)
	if name == nil {
		return append(list, Problem{n.Line, fmt.Sprintf("%s.%s is missing", path, key)})
	}
	c, err := table(name.Value)
	if err != nil {
		return append(list, Problem{name.Line, fmt.Sprintf("%s.%s: %v", path, key, err)})
	}
	out.Name, out.Config, out.key = name.Value, c, key
	before := len(list)
	list = unknownKeys(n, reflect.TypeOf(c), path+".", list)
	if len(list) == before {
		if err := n.Load(c); err != nil {
			for _, p := range problems(err) {
				list = append(list, Problem{p.Line, path + ": " + p.Text})
			}
		}
	}
	return list
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

// value returns the value of a mapping's key, nil where there is none.
func value(n *yaml.Node, key string) *yaml.Node {
	if n == nil {
		return nil
	}
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// take removes a key from a mapping and returns its value.
func take(n *yaml.Node, key string) *yaml.Node {
	v := value(n, key)
	if v == nil {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
			break
		}
	}
	return v
}

// set applies key=value, where key is dotted and value is YAML; keys that are absent are made.
func set(root *yaml.Node, s string) error {
	key, text, ok := strings.Cut(s, "=")
	if !ok || key == "" {
		return errors.New("want key=value, such as train.steps=1000")
	}
	var doc yaml.Node
	if err := yaml.Load([]byte(text), &doc); err != nil {
		return err
	}
	v := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	if len(doc.Content) == 1 {
		v = doc.Content[0]
	}
	forgetLines(v)
	n := root
	parts := strings.Split(key, ".")
	for i, p := range parts {
		if n.Kind != yaml.MappingNode {
			return fmt.Errorf("%s has no keys", strings.Join(parts[:i], "."))
		}
		last := i == len(parts)-1
		c := value(n, p)
		switch {
		case c == nil && last:
			n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: p}, v)
		case c == nil:
			c = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
			n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: p}, c)
		case last:
			*c = *v
		}
		n = c
	}
	return nil
}

// forgetLines marks a value as not from the file.
func forgetLines(n *yaml.Node) {
	n.Line, n.Column = 0, 0
	for _, c := range n.Content {
		forgetLines(c)
	}
}
