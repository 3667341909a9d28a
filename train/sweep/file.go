package sweep

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/configs"
)

// Request is what a sweep's file, or a command line, says. What is left out is empty or 0.
type Request struct {
	Config, Name, Seeds, Metric string
	Set                         []string
	Grid                        []Axis
	Random                      []Range
	Trials                      int
	Seed                        uint64
}

// FileKeys are the keys of a sweep's file, with what they hold.
const FileKeys = `config: configs/classic/lqr.yaml      # a path, or a shipped configuration
set: {train.steps: 20000}             # the same for all arms
grid:                                 # every combination of these values
  agent.actor_rate: [1e-4, 3e-4]
  agent.hidden: [[32, 32], [64, 64]]
random:                               # and of as many draws as trials says
  agent.gamma: uniform(0.9, 0.99)     # or log(a,b), int(a,b), choice(x,y)
trials: 5
seed: 1                               # of the draws
seeds: 1-2                            # training seeds
name: rates                           # folder of the sweep, below --runs
metric: return                        # by which arms are ranked
`

var fileKeys = []string{"config", "name", "set", "grid", "random", "trials", "seed", "seeds", "metric"}

// ReadFile reads a sweep's file. Errors name its line.
func ReadFile(path string) (*Request, error) {
	b, err := configs.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseFile(path, b)
}

func parseFile(path string, b []byte) (*Request, error) {
	var doc yaml.Node
	if err := yaml.Load(b, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: want keys and values, such as grid: {agent.actor_rate: [1e-4, 3e-4]}", path)
	}
	r := &Request{}
	var all error
	err := pairs(doc.Content[0], func(key string, line int, v *yaml.Node) error {
		if err := r.take(key, v); err != nil {
			all = errors.Join(all, fmt.Errorf("%s:%d: %s %w", path, line, key, err))
		}
		return nil
	})
	return r, errors.Join(all, err)
}

// pairs calls do with the keys and values of a mapping, in their order.
func pairs(n *yaml.Node, do func(key string, line int, v *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return errors.New("wants keys and values, as in {agent.gamma: …}")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if err := do(n.Content[i].Value, n.Content[i].Line, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// take reads one key of the file.
func (r *Request) take(key string, v *yaml.Node) error {
	switch key {
	case "config", "name", "seeds", "metric":
		if v.Kind != yaml.ScalarNode {
			return errors.New("wants one value")
		}
		*map[string]*string{"config": &r.Config, "name": &r.Name, "seeds": &r.Seeds, "metric": &r.Metric}[key] = v.Value
	case "trials", "seed":
		into := any(&r.Trials)
		if key == "seed" {
			into = &r.Seed
		}
		if err := v.Load(into); err != nil || r.Trials < 0 {
			return fmt.Errorf("is %q, want a whole number of at least 0", v.Value)
		}
	case "set":
		return pairs(v, func(k string, _ int, v *yaml.Node) error {
			text, err := inline(v)
			r.Set = append(r.Set, k+"="+text)
			return err
		})
	case "grid":
		return pairs(v, func(k string, _ int, v *yaml.Node) error {
			if v.Kind != yaml.SequenceNode || len(v.Content) == 0 {
				return fmt.Errorf("%s wants a list of values, as in [1e-4, 3e-4]", k)
			}
			a := Axis{Key: k}
			for _, c := range v.Content {
				text, err := inline(c)
				if err != nil {
					return err
				}
				a.Values = append(a.Values, text)
			}
			r.Grid = append(r.Grid, a)
			return nil
		})
	case "random":
		return pairs(v, func(k string, _ int, v *yaml.Node) error {
			law, err := ParseLaw(v.Value)
			if strings.Contains(v.Value, "(") && !strings.Contains(v.Value, ")") { // YAML cut it at the comma
				return fmt.Errorf("%s is %q: within {…} a law needs quotes, as in {%s: 'uniform(1,2)'}", k, v.Value, k)
			}
			if err != nil {
				return fmt.Errorf("%s %w", k, err)
			}
			r.Random = append(r.Random, Range{k, law})
			return nil
		})
	default:
		hint := ""
		if near := configs.Nearest(key, fileKeys); near != "" {
			hint = fmt.Sprintf("; did you mean %s", near)
		}
		return fmt.Errorf("is no key of a sweep's file%s; want one of %s", hint, strings.Join(fileKeys, ", "))
	}
	return nil
}

// inline writes a value as --set takes it.
func inline(n *yaml.Node) (string, error) {
	if n.Kind == yaml.ScalarNode {
		return n.Value, nil
	}
	var flow func(n *yaml.Node) *yaml.Node
	flow = func(n *yaml.Node) *yaml.Node {
		c := *n
		c.Style, c.HeadComment, c.LineComment, c.FootComment = yaml.FlowStyle, "", "", ""
		if n.Kind == yaml.ScalarNode {
			c.Style = n.Style
		}
		c.Content = nil
		for _, child := range n.Content {
			c.Content = append(c.Content, flow(child))
		}
		return &c
	}
	b, err := yaml.Dump(flow(n))
	return strings.TrimSpace(string(b)), err
}
