package cli

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/configs"
)

// completion says what may stand where the command line ends in a prefix, and what else the shell may offer there. The
// call has the arguments before it.
type completion func(c *call, prefix string) ([]string, cobra.ShellCompDirective)

// What the shell may offer beside a list.
const (
	orFiles  = cobra.ShellCompDirectiveDefault
	onlyThem = cobra.ShellCompDirectiveNoFileComp
	goesOn   = onlyThem | cobra.ShellCompDirectiveNoSpace // something may follow a word of the list
)

// among completes by what a function lists.
func among(beside cobra.ShellCompDirective, list func(c *call) []string) completion {
	return func(c *call, _ string) ([]string, cobra.ShellCompDirective) { return list(c), beside }
}

// words completes by some words.
func words(list ...string) completion {
	return among(onlyThem, func(*call) []string { return slices.Clone(list) })
}

// first completes the first argument alone.
func first(by completion) completion {
	return func(c *call, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(c.args) > 0 {
			return nil, onlyThem
		}
		return by(c, prefix)
	}
}

// wordLists completes by some words with commas between.
func wordLists(list ...string) completion {
	return func(_ *call, prefix string) (out []string, _ cobra.ShellCompDirective) {
		at := strings.LastIndexByte(prefix, ',') + 1
		given := strings.Split(prefix[:at], ",")
		for _, w := range list {
			if !slices.Contains(given, w) {
				out = append(out, prefix[:at]+w)
			}
		}
		return out, goesOn
	}
}

// configurations completes by the shipped ones, and files.
var configurations = among(orFiles, func(*call) []string {
	var out []string
	for _, s := range configs.Shipped() {
		out = append(out, filepath.Join("configs", s))
	}
	return out
})

// baselines lists those of an environment, or all, with what each does.
func (c *call) baselines(env string) (out []string) {
	for _, r := range c.Catalog.Baselines {
		if env == "" || c.Catalog.PlaysIn(r, env) != "" {
			out = append(out, r.Name+"\t"+r.Doc)
		}
	}
	return out
}

// keys completes by the keys of the configuration that is named on the line, with their present values and what they may
// be, and behind a key's = by the words that are allowed.
func keys(c *call, prefix string) ([]string, cobra.ShellCompDirective) {
	path := "configs/sizing/attmf.yaml"
	if len(c.args) > 0 {
		path = c.args[0]
	}
	x, err := configs.Load(path, nil, c.Catalog)
	if err != nil {
		return nil, onlyThem
	}
	text, err := x.YAML()
	if err != nil {
		return nil, onlyThem
	}
	var root yaml.Node
	if yaml.Load(text, &root) != nil {
		return nil, onlyThem
	}
	rules := rulesOf(x)
	if key, _, ok := strings.Cut(prefix, "="); ok {
		var values []string
		for _, w := range rules[key].Words {
			values = append(values, key+"="+w)
		}
		return values, onlyThem
	}
	list := flatten(&root, "", rules, nil)
	return slices.DeleteFunc(list, func(k string) bool { return !strings.HasPrefix(k, prefix) }), goesOn
}

// checkpointsOf completes by the checkpoints of the run that is named on the line.
func checkpointsOf(c *call, _ string) ([]string, cobra.ShellCompDirective) {
	if len(c.args) == 0 {
		return nil, onlyThem
	}
	list, err := checkpoints.List(durable.OS{}, filepath.Join(c.args[0], checkpoints.CheckpointsDir))
	if err != nil {
		return nil, onlyThem
	}
	return append(list, string(checkpoints.Best)), onlyThem
}

// rulesOf says what the values of an experiment's keys may be, as the tags of its configurations do.
func rulesOf(x *configs.Experiment) map[string]bounds.Rule {
	rules := map[string]bounds.Rule{}
	for section, config := range map[string]any{"": x, "env.": x.Env.Config, "agent.": x.Agent.Config} {
		fields, err := bounds.Fields(reflect.TypeOf(config))
		if err != nil {
			continue // a wrong tag is reported where the configuration is checked
		}
		for _, f := range fields {
			rules[section+strings.TrimSuffix(f.Key, "[]")] = f.Rule
		}
	}
	return rules
}

// flatten lists a mapping's dotted keys as completions: key=, a tab, the value now, and what it may be.
func flatten(n *yaml.Node, path string, rules map[string]bounds.Rule, out []string) []string {
	rule := ""
	if r := rules[path].String(); r != "" {
		rule = " (" + r + ")"
	}
	switch n.Kind {
	case yaml.DocumentNode:
		for _, c := range n.Content {
			out = flatten(c, path, rules, out)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if path != "" {
				key = path + "." + key
			}
			out = flatten(n.Content[i+1], key, rules, out)
		}
	case yaml.ScalarNode:
		return append(out, path+"=\t"+n.Value+rule)
	default:
		return append(out, strings.TrimSuffix(path+"=\t"+strings.TrimSpace(rule), "\t"))
	}
	return out
}
