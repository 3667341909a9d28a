package placement

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-rl/stoker/envs"
)

// Example returns a cluster at rest in which a request of the first workflow has just arrived: it says which keys there
// are, and a policy can decide on it.
func (o *Observer) Example() *Cluster {
	const now, deadline = 100, 10 // seconds
	c := &Cluster{Now: now, Nodes: make([]NodeMeters, o.layout.Nodes),
		Functions: make([]FunctionMeters, o.layout.Functions),
		Requests:  []Request{{Size: 1, Arrived: now, Deadline: now + deadline, Done: []Done{}}},
		Waiting:   []Waiting{}, Running: []Running{}, Warm: []Warm{}}
	for n := range c.Nodes {
		c.Nodes[n].Recent = 0.1
	}
	for f := range c.Functions {
		c.Functions[f].Last = -1
	}
	for j, s := range o.s.workflows[0].steps {
		if len(s.after) == 0 {
			c.Waiting = append(c.Waiting, Waiting{Step: j, Since: now})
			c.Functions[s.function].Last = now
		}
	}
	return c
}

// Reading tells what a row of a part of the graph, "node.function" for example, is of in the cluster's JSON, and gives
// numbers of a feature in the platform's unit, which it names.
func (o *Observer) Reading(c *Cluster, part string, row, feature int, x ...float64) (key, unit string,
	values []float64) {
	g := o.layout.space()
	kind, name, _ := strings.Cut(part, ".")
	var features []envs.Component
	for _, n := range g.Nodes {
		if kind == "node" && n.Name == name {
			features = n.Features
		}
	}
	for _, e := range g.Edges {
		if kind == "edge" && e.Name == name {
			features = e.Features
		}
	}
	key = fmt.Sprintf("%s %d", part, row)
	if kind == "node" {
		key = o.rowKey(c, name, row)
	}
	f := features[feature]
	of := func(invert func(float64) float64) {
		for _, x := range x {
			values = append(values, invert(x))
		}
	}
	switch unit = f.Unit; unit {
	case asTime, asSigned:
		unit = "s"
		of(func(x float64) float64 { return unsquash(x, timeScale) })
	case asData:
		unit = "MB"
		of(func(x float64) float64 { return unsquash(x, dataScale) })
	case asCount:
		unit = ""
		of(func(x float64) float64 { return unsquash(x, countScale) })
	default:
		of(func(x float64) float64 { return x })
	}
	if f.Unit != asSigned {
		for i := range values {
			values[i] = max(0, values[i])
		}
	}
	return key + ": " + f.Name, unit, values
}

// rowKey is the key of a node of the graph, with the name of a function.
func (o *Observer) rowKey(c *Cluster, kind string, row int) string {
	switch {
	case kind == "function":
		return fmt.Sprintf("functions[%d] (%s)", row, o.s.functions[row].name)
	case kind == "node":
		return fmt.Sprintf("nodes[%d]", row)
	}
	list, w := "waiting", (*Waiting)(nil)
	if n := min(len(c.Waiting), o.layout.Window); row < n {
		w = &c.Waiting[row]
	} else {
		list, row = "running", row-n
		w = &c.Running[row].Waiting
	}
	step := &o.s.workflows[c.Requests[w.Request].Workflow].steps[w.Step]
	return fmt.Sprintf("%s[%d] (%s)", list, row, o.s.functions[step.function].name)
}

// unsquash is the inverse of squash and of signed, infinite beyond what they give.
func unsquash(y, scale float64) float64 {
	if math.Abs(y) >= 1 {
		return math.Copysign(math.Inf(1), y)
	}
	return scale * y / (1 - math.Abs(y))
}
