package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/catalog/schema"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/envs/workload"
)

// envLine is an environment as a program reads it.
type envLine struct {
	ID         string          `json:"id"`
	Doc        string          `json:"doc"`
	Page       string          `json:"page,omitempty"`
	Step       string          `json:"step,omitempty"`
	Max        int             `json:"max_steps,omitempty"`
	Objective  string          `json:"objective,omitempty"`
	Constraint string          `json:"constraint,omitempty"`
	Kinds      []kindLine      `json:"agents,omitempty"`
	Info       []envs.Quantity `json:"info,omitempty"`
	Keys       []schema.Key    `json:"keys,omitempty"`
}

type kindLine struct {
	Name        string     `json:"name"`
	Agents      int        `json:"agents"`
	Doc         string     `json:"doc,omitempty"`
	Observation string     `json:"observation"`
	Action      string     `json:"action"`
	Features    []partLine `json:"features,omitempty"`
	Nodes       []nodeLine `json:"nodes,omitempty"`
	Edges       []nodeLine `json:"edges,omitempty"`
	Actions     []partLine `json:"actions,omitempty"`
}

// partLine is a number of an observation or an action. Choices is how many there are, where it is a choice.
type partLine struct {
	Name    string      `json:"name"`
	Unit    string      `json:"unit,omitempty"`
	Range   envs.Bounds `json:"range"`
	Choices int         `json:"choices,omitempty"`
	Doc     string      `json:"doc,omitempty"`
}

// nodeLine is a kind of nodes or edges of a graph that is seen.
type nodeLine struct {
	Name     string     `json:"name"`
	Most     int        `json:"most"`
	From     string     `json:"from,omitempty"`
	To       string     `json:"to,omitempty"`
	Features []partLine `json:"features"`
}

func envsCommand() *command {
	check := false
	return &command{
		name: "envs", takes: "[ID]", args: arguments{most: 1},
		json:  "print as JSON",
		flags: []flag{option(&check, "check", "run the conformance checks")},
		complete: among(onlyThem, func(c *call) (out []string) {
			for _, e := range c.Catalog.Envs {
				out = append(out, e.ID+"\t"+e.Doc)
			}
			return out
		}),
		run: func(c *call) (any, error) {
			list := c.Catalog.Envs
			if len(c.args) == 1 {
				e, err := c.Catalog.Env(c.args[0])
				if err != nil {
					return nil, usage("%w", err)
				}
				list = []catalog.Env{e}
			}
			if check {
				return checkEnvs(c, list)
			}
			return listEnvs(c, list, len(c.args) == 1)
		},
	}
}

func listEnvs(c *call, list []catalog.Env, whole bool) (any, error) {
	var keys map[string][]schema.Key
	if whole || c.json {
		text, err := schema.Of(c.Catalog)
		if err != nil {
			return nil, err
		}
		if keys, err = schema.Keys(text, "env"); err != nil {
			return nil, err
		}
	}
	var lines []envLine
	for _, e := range list {
		l := envLine{ID: e.ID, Doc: e.Doc, Page: e.Page}
		if whole || c.json {
			env, err := e.New(e.Config(), workload.Default())
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.ID, err)
			}
			l = lineOf(e, env.Spec())
			l.Keys = keys[e.ID]
		}
		lines = append(lines, l)
	}
	if whole {
		printEnv(c, lines[0])
		return lines, nil
	}
	t := tabwriter.NewWriter(c, 0, 0, 2, ' ', 0)
	for _, l := range lines {
		fmt.Fprintf(t, "%s\t%s\n", l.ID, l.Doc)
	}
	return lines, t.Flush()
}

func lineOf(e catalog.Env, s *envs.Spec) envLine {
	l := envLine{ID: e.ID, Doc: e.Doc, Page: e.Page, Step: s.Step.Unit, Max: s.MaxSteps, Info: s.Info,
		Objective: s.Objective, Constraint: s.Constraint}
	if s.Step.Fixed > 0 {
		l.Step += fmt.Sprintf(" of %g s", float64(s.Step.Fixed)/1e6)
	}
	for _, k := range s.Kinds {
		x := kindLine{Name: k.Name, Agents: k.Agents, Doc: k.Doc, Observation: k.Observation.String(),
			Action: k.Action.String(), Features: parts(k.Observation, k.Features, k.FeatureUnits, k.FeatureDocs),
			Actions: parts(k.Action, k.Actions, k.ActionUnits, k.ActionDocs)}
		if g, ok := k.Observation.(envs.Graph); ok {
			for _, n := range g.Nodes {
				x.Nodes = append(x.Nodes, nodeLine{Name: n.Name, Most: n.Capacity, Features: components(n.Features)})
			}
			for _, n := range g.Edges {
				x.Edges = append(x.Edges, nodeLine{n.Name, n.Capacity, g.Nodes[n.From].Name, g.Nodes[n.To].Name,
					components(n.Features)})
			}
		}
		l.Kinds = append(l.Kinds, x)
	}
	return l
}

func components(list []envs.Component) []partLine {
	out := []partLine{}
	for _, c := range list {
		out = append(out, partLine{Name: c.Name, Unit: c.Unit, Doc: c.Doc})
	}
	return out
}

// parts are the named components of a space.
func parts(s envs.Space, names, units, docs []string) []partLine {
	var out []partLine
	ranges, choices := envs.Ranges(s), envs.Choices(s)
	for i, n := range names {
		p := partLine{Name: n, Range: ranges[i], Choices: choices[i]}
		if i < len(units) {
			p.Unit = units[i]
		}
		if i < len(docs) {
			p.Doc = docs[i]
		}
		out = append(out, p)
	}
	return out
}

func printEnv(w io.Writer, l envLine) {
	fmt.Fprintf(w, "%s\n%s\n", l.ID, l.Doc)
	if l.Page != "" {
		fmt.Fprintf(w, "page: %s\n", l.Page)
	}
	fmt.Fprintf(w, "\nstep: %s", l.Step)
	if l.Max > 0 {
		fmt.Fprintf(w, ", episodes are truncated after %d", l.Max)
	}
	fmt.Fprintln(w)
	for _, k := range l.Kinds {
		fmt.Fprintf(w, "\n%d × %s\n", k.Agents, k.Name)
		if k.Doc != "" {
			fmt.Fprintf(w, "%s\n", wrap(k.Doc, 2, 118))
		}
		fmt.Fprintf(w, "\n  observation  %s\n", k.Observation)
		printParts(w, k.Features)
		for _, n := range k.Nodes {
			fmt.Fprintf(w, "  nodes: %s, up to %d\n", n.Name, n.Most)
			printParts(w, n.Features)
		}
		for _, n := range k.Edges {
			fmt.Fprintf(w, "  edges: %s, from %s to %s, up to %d\n", n.Name, n.From, n.To, n.Most)
			printParts(w, n.Features)
		}
		fmt.Fprintf(w, "\n  action       %s\n", k.Action)
		printParts(w, k.Actions)
	}
	if len(l.Info) > 0 {
		fmt.Fprintln(w, "\nreports")
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, q := range l.Info {
			better := string(q.Better)
			if better != "" {
				better += " is better"
			}
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", q.Name, q.Unit, better, q.Doc)
		}
		t.Flush() // the terminal's own failure has nowhere to be told
	}
	if l.Objective != "" {
		fmt.Fprintf(w, "\npolicies are judged by %s", l.Objective)
		if l.Constraint != "" {
			fmt.Fprintf(w, ", with %s kept at least as well", l.Constraint)
		}
		fmt.Fprintln(w)
	}
	printKeys(w, l)
}

// most is how many features of one kind are shown in the terminal; --json has all.
const most = 60

func printParts(w io.Writer, list []partLine) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, p := range list {
		if i == most {
			fmt.Fprintf(t, "    and %d more: see --json\n", len(list)-most)
			break
		}
		fmt.Fprintf(t, "    %s\t%s\t%s\t%s\n", p.Name, p.Unit, p.span(), p.Doc)
	}
	t.Flush() // the terminal's own failure has nowhere to be told
}

// span is the range of a number.
func (p *partLine) span() string {
	low, high := p.Range.Limits()
	switch below, above := math.IsInf(low, 0), math.IsInf(high, 0); {
	case below && above:
		return ""
	case above:
		return fmt.Sprintf("from %.4g", low)
	case below:
		return fmt.Sprintf("up to %.4g", high)
	}
	return fmt.Sprintf("%.4g to %.4g", low, high)
}

// printKeys shows the keys of a configuration's section env.
func printKeys(w io.Writer, l envLine) {
	if len(l.Keys) == 0 {
		return
	}
	fmt.Fprintf(w, "\nkeys of a configuration: env: {id: %s, …}\n", l.ID)
	for _, k := range l.Keys {
		value := ""
		if k.Default != nil {
			if b, err := json.Marshal(k.Default); err == nil {
				value = "; default " + strings.Trim(string(b), `"`)
			}
		}
		fmt.Fprintf(w, "  %s  (%s%s)\n", k.Key, k.Type, value)
		if k.Doc != "" {
			fmt.Fprintln(w, wrap(k.Doc, 6, 118))
		}
	}
}

// wrap breaks a text into lines of at most width characters, each after indent spaces.
func wrap(text string, indent, width int) string {
	var whole []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && indent+utf8.RuneCountInString(line+" "+word) > width {
			whole, line = append(whole, line), ""
		}
		line = strings.TrimLeft(line+" "+word, " ")
	}
	space := strings.Repeat(" ", indent)
	return space + strings.Join(append(whole, line), "\n"+space)
}

// checkEnvs runs the conformance checks of each environment.
func checkEnvs(c *call, list []catalog.Env) (any, error) {
	type line struct {
		ID       string   `json:"id"`
		Conforms bool     `json:"conforms"`
		Problems []string `json:"problems"`
	}
	lines, bad := make([]line, len(list)), 0
	for i, e := range list {
		l := line{ID: e.ID, Problems: []string{}}
		for _, p := range envtest.Check(func() (envs.Env, error) { return e.New(e.Config(), workload.Default()) },
			envtest.Options{}) {
			l.Problems = append(l.Problems, fmt.Sprint(p))
		}
		if l.Conforms = len(l.Problems) == 0; !l.Conforms {
			bad++
		}
		if lines[i] = l; l.Conforms {
			fmt.Fprintf(c, "%s: conforms\n", e.ID)
		}
		for _, p := range l.Problems {
			fmt.Fprintf(c, "%s: %s\n", e.ID, p)
		}
	}
	if bad > 0 {
		return lines, fmt.Errorf("%d of %d environments break the contract", bad, len(list))
	}
	return lines, nil
}

func agentsCommand() *command {
	return &command{
		name: "agents",
		json: "print as JSON",
		run: func(c *call) (any, error) {
			type line struct {
				Name string       `json:"name"`
				Kind catalog.Kind `json:"kind"`
				Envs []string     `json:"envs,omitempty"`
				Doc  string       `json:"doc"`
				Page string       `json:"page,omitempty"`
			}
			var lines []line
			for _, a := range c.Catalog.Learners {
				lines = append(lines, line{a.Name, catalog.Learned, nil, a.Doc, a.Page})
			}
			for _, r := range c.Catalog.Baselines {
				lines = append(lines, line{r.Name, r.Kind, r.Envs, r.Doc, r.Page})
			}
			t := tabwriter.NewWriter(c, 0, 0, 2, ' ', 0)
			for _, l := range lines {
				in := strings.Join(l.Envs, " ")
				if in == "" && l.Kind != catalog.Learned {
					in = "all"
				}
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", l.Name, l.Kind, in, l.Doc)
			}
			return lines, t.Flush()
		},
	}
}
