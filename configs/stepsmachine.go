package configs

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/envs/workflow/asl"
)

// machine makes the workflow of a state machine. It returns the Lambda functions of the steps.
func (f *stepsFile) machine(drawn bool) (lambdas map[string]string, err error) {
	wrong := func(key string, err error) error {
		file := map[string]string{"machine": f.Machine, "facts": f.Facts}[key]
		return bounds.Errorf(key, "%s: %s", file, strings.TrimPrefix(err.Error(), "asl: "))
	}
	if drawn {
		return nil, bounds.Errorf("workflow", "is there beside a machine, want one of them")
	}
	o := asl.Options{Percent: f.Percent}
	if f.Facts != "" {
		file, err := os.Open(f.Facts)
		if err != nil {
			return nil, bounds.Errorf("facts", "cannot be read: %v", err)
		}
		defer file.Close()
		if o.Facts, err = asl.ReadFacts(file); err != nil {
			return nil, wrong("facts", err)
		}
	}
	file, err := os.Open(f.Machine)
	if err != nil {
		return nil, bounds.Errorf("machine", "cannot be read: %v", err)
	}
	defer file.Close()
	m, err := asl.Read(file)
	if err != nil {
		return nil, wrong("machine", err)
	}
	if err := f.items(m, &o.Facts); err != nil {
		return nil, wrong("machine", err)
	}
	flow, err := m.Workflow(o)
	if err != nil {
		return nil, wrong("machine", err)
	}
	return f.flow(flow)
}

// items makes each Map state one step. The work on one item is one task of the step.
func (f *stepsFile) items(m *asl.Machine, facts *asl.Facts) error {
	items := facts.Maps
	facts.Maps = map[string]int{}
	var visit func(*asl.Machine) error
	visit = func(m *asl.Machine) error {
		for _, s := range m.States {
			for _, b := range s.Branches {
				if err := visit(b); err != nil {
					return err
				}
			}
			if s.Type != asl.Map {
				continue
			}
			if len(s.Each.States) != 1 || s.Each.States[0].Type != asl.Task {
				return fmt.Errorf("line %d: state %q has %d states for each item, want one Task: a step runs one function on all "+
					"its tasks", s.Line, s.Name, len(s.Each.States))
			}
			facts.Maps[s.Name] = 1
			if n, ok := items[s.Name]; ok {
				f.share(s.Each.States[0].Name, n)
			}
		}
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(items)) {
		if items[name] < 1 {
			return fmt.Errorf("maps: %s has %d items, want at least 1", name, items[name])
		}
	}
	return visit(m)
}

// share gives a step that has no tasks of its own so many.
func (f *stepsFile) share(step string, tasks int) {
	for i := range f.Steps {
		if f.Steps[i].Name == step && f.Steps[i].Tasks == 0 {
			f.Steps[i].Tasks = tasks
		}
	}
}

// flow takes the graph of a machine. A node has the name of its state.
func (f *stepsFile) flow(flow *asl.Flow) (lambdas map[string]string, err error) {
	fixed, lambdas := map[string]float64{}, map[string]string{}
	of := map[string]asl.Function{}
	for _, fn := range flow.Functions {
		of[fn.Name] = fn
	}
	bare := func(node string) string { return node[strings.LastIndex(node, "]/")+1:] }
	name := func(node string) string { return strings.TrimPrefix(bare(node), "/") }
	g := workflow.Graph{Name: f.Name, Entry: name(flow.Graph.Entry)}
	for _, n := range flow.Graph.Nodes {
		step, fn := name(n.Name), of[n.Function]
		if n.Function == "" {
			fn = of[n.Name]
		}
		lambdas[step] = fn.Lambda
		if fn.Fixed {
			fixed[step] = fn.Seconds
		}
		g.Nodes = append(g.Nodes, workflow.Node{Name: step, Join: n.Join})
	}
	for _, e := range flow.Graph.Edges {
		e.From = name(e.From)
		if e.To != workflow.End {
			e.To = name(e.To)
		}
		g.Edges = append(g.Edges, e)
	}
	f.Workflow = g
	for _, n := range g.Nodes { // states without a function
		seconds, ok := fixed[n.Name]
		if !ok || slices.ContainsFunc(f.Steps, func(s steps.StepConfig) bool { return s.Name == n.Name }) {
			continue
		}
		f.Steps = append(f.Steps, steps.StepConfig{Name: n.Name, Wait: seconds})
	}
	return lambdas, nil
}
