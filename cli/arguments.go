package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/train"
)

// usage is an error in how the command was called: exit code 2.
func usage(format string, args ...any) error { return train.Usage(format, args...) }

// knownCommand refuses what is no command, and names the nearest one.
func knownCommand(c *cobra.Command, a []string) error {
	if len(a) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return usage("no command %q%s\nsee: %s --help", a[0], didYouMean(a[0], names, ""), c.CommandPath())
}

// flagError says what is wrong with a flag in our words, and names the nearest one.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var wrong wants
	text := err.Error()
	errors.As(err, &invalid)
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		text = fmt.Sprintf("no flag --%s%s", unknown.GetSpecifiedName(),
			didYouMean(unknown.GetSpecifiedName(), names, "--"))
	case errors.As(err, &wrong):
		text = fmt.Sprintf("--%s is %q, want %s", invalid.GetFlag().Name, invalid.GetValue(), string(wrong))
	case invalid != nil && invalid.GetFlag().Name == "seeds":
		text = fmt.Sprintf("--seeds: %v", invalid.Unwrap())
	case invalid != nil:
		text = fmt.Sprintf("--%s is %q, want %s", invalid.GetFlag().Name, invalid.GetValue(),
			flagWants(invalid.GetFlag().Value.Type()))
	}
	return usage("%s\nsee: %s --help", text, c.CommandPath())
}

// flagWants says what a flag of a type holds.
func flagWants(kind string) string {
	switch kind {
	case "uint64":
		return "a whole number of at least 0"
	case "int", "int64":
		return "a whole number"
	case "float64":
		return "a number"
	case "bool":
		return "true or false"
	case "intSlice":
		return "whole numbers, such as 5,12"
	}
	return "a " + kind
}

// didYouMean is a hint, empty where nothing is near.
func didYouMean(got string, names []string, prefix string) string {
	if near := configs.Nearest(got, names); near != "" {
		return fmt.Sprintf("; did you mean %s%s?", prefix, near)
	}
	return ""
}

// arguments are from least to most (any number where most is negative), called what where one is missing.
type arguments struct {
	least, most int
	what        string
}

func (r arguments) check(c *cobra.Command, a []string) error {
	switch {
	case len(a) < r.least:
		return usage("%s is missing\nusage: %s", r.what, c.UseLine())
	case r.most >= 0 && len(a) > r.most:
		return usage("too many arguments: %s\nusage: %s", strings.Join(a[r.most:], " "), c.UseLine())
	}
	return nil
}

// wants is the error of a flag's value: what is right.
type wants string

func (w wants) Error() string { return "want " + string(w) }

// repeated is a flag that is given once for each of several texts.
type repeated struct{ to *[]string }

// parsed is what a flag's text is read to.
type parsed[T any] struct {
	to    *T
	kind  string
	parse func(text string) (T, error)
}

func (p parsed[T]) String() string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(*p.to), "[]"), " ", ",") // lists with commas
}

func (p parsed[T]) Type() string { return p.kind }

func (p parsed[T]) Set(text string) error {
	v, err := p.parse(text)
	if err == nil {
		*p.to = v
	}
	return err
}

// whole is a whole number that has a least value. The default may be another.
func whole(to *int, least int) parsed[int] {
	return parsed[int]{to, "int", func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < least {
			return 0, wants(fmt.Sprintf("a whole number of at least %d", least))
		}
		return n, nil
	}}
}

// wholes are several whole numbers of at least 1, with commas.
func wholes(to *[]int) parsed[[]int] {
	return parsed[[]int]{to, "ints", func(text string) (list []int, err error) {
		for word := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(word))
			if err != nil || n < 1 {
				return nil, wants("whole numbers of at least 1, such as 5,12")
			}
			list = append(list, n)
		}
		return list, nil
	}}
}

// seedList is a list of seeds. A lone 0 is refused: who gives it means a number of seeds.
func seedList(to *string) parsed[string] {
	return parsed[string]{to, "string", func(text string) (string, error) {
		if text == "" || text == "0" {
			return "", wants("a list of seeds, such as 1-5 or 1,2,10-12 (the seed 0 alone is 0-0)")
		}
		_, err := configs.ParseSeeds(text)
		return text, err
	}}
}

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
	return lists.From(configs.Shipped(), func(s string) string { return filepath.Join("configs", s) })
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
		return lists.From(rules[key].Words, func(w string) string { return key + "=" + w }), onlyThem
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
