package cli

import (
	"io"
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

// completionCommand is completion in words of ours, which refuses a shell that there is none for.
func completionCommand() *cobra.Command {
	shells := map[string]func(*cobra.Command, io.Writer) error{
		"bash":       func(c *cobra.Command, w io.Writer) error { return c.GenBashCompletionV2(w, true) },
		"zsh":        func(c *cobra.Command, w io.Writer) error { return c.GenZshCompletion(w) },
		"fish":       func(c *cobra.Command, w io.Writer) error { return c.GenFishCompletion(w, true) },
		"powershell": func(c *cobra.Command, w io.Writer) error { return c.GenPowerShellCompletionWithDesc(w) },
	}
	known := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the script by which a shell completes commands, flags, keys and names",
		Long: `Print the script by which a shell (bash, zsh, fish, powershell) completes commands, flags, the keys of --set with their
values, environments, learners, rivals and checkpoints.`,
		Example: `  source <(stoker completion bash)                             # this shell; bash needs the package bash-completion
  stoker completion bash > ~/.local/share/bash-completion/completions/stoker
  stoker completion zsh > "${fpath[1]}/_stoker"
  stoker completion fish > ~/.config/fish/completions/stoker.fish`,
		Args: args(1, 1, "SHELL, "+strings.Join(known, ", ")+","),
		RunE: func(c *cobra.Command, a []string) error {
			write, ok := shells[a[0]]
			if !ok {
				return usage("no completion for %q%s; there is one for %s", a[0], didYouMean(a[0], known, ""),
					strings.Join(known, ", "))
			}
			return write(c.Root(), c.OutOrStdout())
		},
		ValidArgsFunction: func(_ *cobra.Command, a []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(a) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return slices.Clone(known), cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// completeConfigs completes an argument by the shipped configurations, and files.
func completeConfigs(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, s := range configs.Shipped() {
		out = append(out, filepath.Join("configs", s))
	}
	return out, cobra.ShellCompDirectiveDefault
}

// completeSets completes --set, or the flags named instead, by the configuration that is named on the line: keys, with
// their present values and what they may be, and behind a key's = the words that are allowed.
func completeSets(c *cobra.Command, flags ...string) {
	if len(flags) == 0 {
		flags = []string{"set"}
	}
	complete := func(c *cobra.Command, a []string, prefix string) ([]string, cobra.ShellCompDirective) {
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
		rules := rulesOf(x)
		if key, _, ok := strings.Cut(prefix, "="); ok {
			var words []string
			for _, w := range rules[key].Words {
				words = append(words, key+"="+w)
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		}
		keys := flatten(&root, "", rules, nil)
		keys = slices.DeleteFunc(keys, func(k string) bool { return !strings.HasPrefix(k, prefix) })
		return keys, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	for _, f := range flags {
		if err := c.RegisterFlagCompletionFunc(f, complete); err != nil {
			panic(err) // the flag was just defined
		}
	}
}

// completeCheckpoints completes --from by the checkpoints of the run that is named on the line.
func completeCheckpoints(c *cobra.Command) {
	complete := func(_ *cobra.Command, a []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(a) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list, err := checkpoints.List(durable.OS{}, filepath.Join(a[0], checkpoints.CheckpointsDir))
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return append(list, string(checkpoints.Best)), cobra.ShellCompDirectiveNoFileComp
	}
	if err := c.RegisterFlagCompletionFunc("from", complete); err != nil {
		panic(err) // the flag was just defined
	}
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

// completeWords completes a flag by one of a few words.
func completeWords(c *cobra.Command, flag string, words ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words,
		cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag was just defined
	}
}

// completeLists completes a flag by some of a few words with commas between.
func completeLists(c *cobra.Command, flag string, words ...string) {
	complete := func(_ *cobra.Command, _ []string, prefix string) (out []string, _ cobra.ShellCompDirective) {
		at := strings.LastIndexByte(prefix, ',') + 1
		given := strings.Split(prefix[:at], ",")
		for _, w := range words {
			if !slices.Contains(given, w) {
				out = append(out, prefix[:at]+w)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	if err := c.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the flag was just defined
	}
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
