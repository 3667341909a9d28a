package configs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// place returns where a mapping's content has a key, whose value comes after it; -1 where it has none.
func place(n *yaml.Node, key string) int {
	if n == nil || n.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// value returns the value of a mapping's key, nil where there is none.
func value(n *yaml.Node, key string) *yaml.Node {
	i := place(n, key)
	if i < 0 {
		return nil
	}
	return n.Content[i+1]
}

// repeated is the key of a mapping that is there before, nil where there is none.
func repeated(n *yaml.Node) *yaml.Node {
	seen := map[string]bool{}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if seen[c.Value] {
				return c
			}
			seen[c.Value] = true
		}
		if r := repeated(c); r != nil {
			return r
		}
	}
	return nil
}

// take removes a key from a mapping and returns its value.
func take(n *yaml.Node, key string) *yaml.Node {
	i := place(n, key)
	if i < 0 {
		return nil
	}
	v := n.Content[i+1]
	n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
	return v
}

// maxNodes bounds a configuration, whose aliases could stand for more than a machine holds.
const maxNodes = 100_000

// expand puts copies in place of aliases, so that each can be changed for itself.
func expand(n *yaml.Node, left *int) error {
	if *left--; *left < 0 {
		return fmt.Errorf("has more than %d values, or an alias within itself", maxNodes)
	}
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		line, column := n.Line, n.Column
		*n = *n.Alias
		n.Line, n.Column, n.Anchor = line, column, ""
	}
	n.Content = slices.Clone(n.Content)
	for i, c := range n.Content {
		own := *c
		n.Content[i] = &own
		if err := expand(&own, left); err != nil {
			return err
		}
	}
	return nil
}

func null(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// set applies key=value, where key is dotted and value is YAML; keys that are absent are made.
func set(root *yaml.Node, s string) error {
	key, text, ok := strings.Cut(s, "=")
	key = strings.TrimSpace(key)
	if !ok || key == "" {
		return errors.New("want key=value, such as train.steps=1000")
	}
	v, err := setting(text)
	if err != nil {
		return err
	}
	n := root
	parts := strings.Split(key, ".")
	for i, p := range parts {
		path, last := strings.Join(parts[:i+1], "."), i == len(parts)-1
		if p == "" {
			return fmt.Errorf("%q has an empty part, want a key such as train.steps", key)
		}
		c := value(n, p)
		if c != nil && !last && c.Kind == yaml.ScalarNode {
			c = opened(n, p, path, c)
		}
		switch {
		case c == nil && last:
			n.Content = append(n.Content, scalar(p), v)
		case c == nil:
			c = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: FromSet}
			n.Content = append(n.Content, scalar(p), c)
		case last:
			*c = *v
		case c.Kind != yaml.MappingNode:
			return fmt.Errorf("%s has no keys", path)
		}
		n = c
	}
	return nil
}

// opened makes the scalar c, the value of n's key p, into what has keys: nothing into an empty mapping, and a bare name
// of an environment or agent into a mapping with that name.
func opened(n *yaml.Node, p, path string, c *yaml.Node) *yaml.Node {
	var m *yaml.Node
	switch {
	case null(c):
		m = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: c.Line}
	case path == "env":
		m = named(c, "id")
	case path == "agent":
		m = named(c, "name")
	default:
		return c
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == p {
			n.Content[i+1] = m
		}
	}
	return m
}

func scalar(key string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key, Line: FromSet}
}

// setting parses the value of a --set; nothing is the empty text.
func setting(text string) (*yaml.Node, error) {
	if strings.TrimSpace(text) == "" {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Line: FromSet}, nil
	}
	var doc yaml.Node
	if err := yaml.Load([]byte(text), &doc); err != nil {
		return nil, errors.New(problems(err)[0].Text)
	}
	if len(doc.Content) != 1 {
		return nil, errors.New("want a value behind the =")
	}
	left := maxNodes
	if err := expand(doc.Content[0], &left); err != nil {
		return nil, err
	}
	fromSet(doc.Content[0])
	return doc.Content[0], nil
}

// fromSet marks a value as not from the file.
func fromSet(n *yaml.Node) {
	n.Line, n.Column = FromSet, 0
	for _, c := range n.Content {
		fromSet(c)
	}
}

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
