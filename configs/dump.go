package configs

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// YAML returns the whole experiment, defaults filled in, as a file that Load reads back to the same.
func (e *Experiment) YAML() ([]byte, error) {
	text, err := yaml.Dump(e, yaml.WithIndent(2))
	p := preset(e.Catalog, e.Env.Name, e.Agent.Name)
	if err != nil || e.Wrappers.NormalizeObservation.Clip != 0 || p.Wrappers.NormalizeObservation.Clip == 0 {
		return text, err
	}
	// What is off is left out, where a preset would turn it on.
	root := (&reader{}).document(text)
	if err := set(root, "wrappers.normalize_observation.clip=0"); err != nil {
		return nil, err
	}
	return yaml.Dump(root, yaml.WithIndent(2))
}

// MarshalYAML writes the name beside the chosen one's own keys.
func (c Choice) MarshalYAML() (any, error) {
	var n yaml.Node
	if err := n.Dump(c.Config); err != nil {
		return nil, err
	}
	m := &n
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		m = n.Content[0]
	}
	if m.Kind != yaml.MappingNode {
		m = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	}
	key := c.key
	if key == "" {
		key = "name"
	}
	m.Style = 0
	name := []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, {Kind: yaml.ScalarNode, Tag: "!!str", Value: c.Name}}
	m.Content = append(name, m.Content...)
	return m, nil
}

// Flow writes choices in one line of YAML, as --set eval.rivals=… takes them.
func Flow(choices []Choice) (string, error) {
	var n yaml.Node
	if err := n.Dump(choices); err != nil {
		return "", err
	}
	inOneLine(&n)
	text, err := yaml.Dump(&n, yaml.WithLineWidth(-1))
	return strings.TrimSpace(string(text)), err
}

func inOneLine(n *yaml.Node) {
	n.Style |= yaml.FlowStyle
	for _, c := range n.Content {
		inOneLine(c)
	}
}
