package cli

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval/profiles"
	"github.com/stoker-rl/stoker/internal/shell"
)

//go:embed templates/*.yaml
var templates embed.FS

// problems are what stoker new writes a configuration for.
var problems = []string{"sizing", "pricing", "placement", "steps", "variants"}

// beside has the second file of a problem whose workflow is a file of its own.
var beside = map[string]string{"steps": ".steps.yaml", "variants": ".app.yaml"}

func newCommand() *command {
	own := &measured{}
	return &command{
		name: "new", takes: strings.Join(problems, "|") + " NAME", args: arguments{2, 2, "PROBLEM, or NAME after it,"},
		flags: []flag{
			option(&own.laws, "laws", "of sizing: laws.yaml of stoker profile fit --out, or any file with env.laws"),
			option(&own.trace, "trace", "of sizing: a trace (docs/traces.md)"),
		},
		complete: first(words(problems...)),
		run:      own.run,
	}
}

func (m *measured) run(c *call) (any, error) {
	problem, path := c.args[0], strings.TrimSuffix(c.args[1], ".yaml")
	name := filepath.Base(path)
	text, err := templates.ReadFile("templates/" + problem + ".yaml")
	if err != nil || strings.Contains(problem, ".") {
		return nil, usage("no problem %q%s; there are: %s", problem, didYouMean(problem, problems, ""), strings.Join(problems, ", "))
	}
	if !regexp.MustCompile(configs.NamePattern).MatchString(name) {
		return nil, usage("NAME is %q, want letters, digits, '.', '_' and '-', a letter or digit first", name)
	}
	plain, err := yaml.Marshal(name) // in quotes where YAML would take the name for a number or for null
	if err != nil {
		return nil, err
	}
	fill := strings.NewReplacer(`"FILE`, strings.TrimSuffix(strconv.Quote(filepath.ToSlash(path)), `"`),
		"name: NAME", "name: "+strings.TrimSpace(string(plain)), "NAME", name)
	text = []byte(fill.Replace(string(text))) // before fill writes the user's own words into it
	if *m != (measured{}) {
		if problem != "sizing" {
			return nil, usage("--laws and --trace are for sizing, not for %s", problem)
		}
		if text, err = m.fill(text); err != nil {
			return nil, usage("%w", err)
		}
	}
	files := []struct {
		path string
		text []byte
	}{{path + ".yaml", text}}
	if end := beside[problem]; end != "" {
		if text, err = templates.ReadFile("templates/" + problem + end); err != nil {
			return nil, err
		}
		files = append(files, files[0])
		files[0].path, files[0].text = path+end, []byte(fill.Replace(string(text))) // the workflow first: NAME.yaml needs it
	}
	for _, f := range files {
		if _, err := os.Lstat(f.path); err == nil {
			return nil, usage("%s is there and stays as it is: give another NAME, or remove it", f.path)
		}
	}
	for _, f := range files {
		out, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, usage("the folder %s is not there, make it first", filepath.Dir(f.path))
		}
		if err != nil {
			return nil, err
		}
		_, err = out.Write(f.text)
		if err = errors.Join(err, out.Close()); err != nil {
			return nil, err
		}
		fmt.Fprintf(c, "%s: written\n", f.path)
	}
	_, err = fmt.Fprintf(c, "change the lines marked with <-, then: stoker train %s\n", shell.Quote(path+".yaml"))
	return nil, err
}

// measured are the files of a user's platform that stoker new sizing takes in; either may be "".
type measured struct{ laws, trace string }

// The lines of templates/sizing.yaml that the files replace.
var (
	nodesLine  = regexp.MustCompile(`(?m)^    nodes: .*\n    edges: .*\n`)
	lawLines   = regexp.MustCompile(`(?m)^(    - \{function: .*\n)+`)
	traceLine  = regexp.MustCompile(`(?m)^  kind: azure2019 .*\n`)
	factorLine = regexp.MustCompile(`(?m)^  factor: .*\n`)
)

// fill writes the laws and the trace into the template.
func (m measured) fill(template []byte) ([]byte, error) {
	text := string(template)
	first := ""
	if m.laws != "" {
		laws, err := readLaws(m.laws)
		if err != nil {
			return nil, fmt.Errorf("--laws: %w", err)
		}
		first = laws[0].Function
		var nodes, edges []string
		for i, l := range laws {
			nodes = append(nodes, "{name: "+strconv.Quote(l.Function)+"}")
			if i > 0 {
				edges = append(edges, fmt.Sprintf("{from: %q, to: %q}", laws[i-1].Function, l.Function))
			}
		}
		text = nodesLine.ReplaceAllLiteralString(text, fmt.Sprintf("    nodes: [%s]\n    edges: [%s]\n", strings.Join(nodes, ", "),
			strings.Join(edges, ", ")))
		text = lawLines.ReplaceAllLiteralString(text, profiles.LawsYAML(laws))
	}
	if m.trace == "" {
		return []byte(text), nil
	}
	trace, err := workload.ReadContents(m.trace, workload.ReadOptions{})
	if err != nil {
		return nil, fmt.Errorf("--trace: %w", err)
	}
	line := fmt.Sprintf("  kind: azure2019\n  path: %s # your trace, from the folder in which stoker runs\n",
		strconv.Quote(filepath.ToSlash(m.trace)))
	const whose = "whose requests begin one of the workflow; without this line, those of all functions together"
	if slices.ContainsFunc(trace.Functions, func(f workload.FunctionTotal) bool { return f.Name == first }) {
		line += fmt.Sprintf("  functions: {names: [%q]} # %s\n", first, whose)
	} else {
		line += "  # functions: {names: []} # <- " + whose + "\n"
	}
	text = traceLine.ReplaceAllLiteralString(text, line)
	return []byte(factorLine.ReplaceAllLiteralString(text, "  factor: 1       # <- of the trace's rate\n")), nil
}

// readLaws reads the laws of a file with env.laws.
func readLaws(path string) ([]sizing.FunctionLaw, error) {
	b, err := configs.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Env struct {
			Laws []sizing.FunctionLaw `yaml:"laws"`
		} `yaml:"env"`
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(doc.Content) == 1 && doc.Content[0].Kind == yaml.MappingNode { // not a table, say, whose error would name a type of Go
		if err := doc.Load(&file); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	laws, seen := file.Env.Laws, map[string]bool{}
	if len(laws) == 0 {
		return nil, fmt.Errorf("%s has no env.laws, want the laws.yaml that stoker profile fit --out writes", path)
	}
	for i, l := range laws {
		if l.Function == "" || seen[l.Function] {
			return nil, fmt.Errorf("%s: env.laws[%d].function is %q, want a name, and each once", path, i, l.Function)
		}
		seen[l.Function] = true
		if err := l.Validate(); err != nil {
			return nil, fmt.Errorf("%s: env.laws[%d]: %w", path, i, err)
		}
	}
	return laws, nil
}
