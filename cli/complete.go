package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/configs"
)

// completeSets completes --set with the keys of the configuration that is named on the line, and their present values.
func completeSets(c *cobra.Command) {
	err := c.RegisterFlagCompletionFunc("set", func(c *cobra.Command, a []string, prefix string) ([]string,
		cobra.ShellCompDirective) {
		path := "configs/sizing/attmf.yaml"
		if len(a) > 0 {
			path = a[0]
		}
		x, err := configs.Load(path, nil, names(c))
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		text, err := x.YAML()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var root yaml.Node
		if yaml.Load(text, &root) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		keys := flatten(&root, "", nil)
		keys = slices.DeleteFunc(keys, func(k string) bool { return !strings.HasPrefix(k, prefix) })
		return keys, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
	if err != nil {
		panic(err) // the flag was just defined
	}
}

// completeWords completes a flag by one of a few words.
func completeWords(c *cobra.Command, flag string, words ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words,
		cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag was just defined
	}
}

// flatten lists a mapping's dotted keys as completions: key=, a tab, and the value now.
func flatten(n *yaml.Node, path string, out []string) []string {
	switch n.Kind {
	case yaml.DocumentNode:
		for _, c := range n.Content {
			out = flatten(c, path, out)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if path != "" {
				key = path + "." + key
			}
			out = flatten(n.Content[i+1], key, out)
		}
	case yaml.ScalarNode:
		return append(out, path+"=\t"+n.Value)
	default:
		return append(out, path+"=")
	}
	return out
}
