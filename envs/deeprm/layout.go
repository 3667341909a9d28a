package deeprm

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
)

// Layout says where the numbers of an observation of [Env] stand, and reads them.
//
// An image is [Horizon, width], row by row: for each resource the slots of the cluster (the grey levels of running
// jobs, 0 where free) and a block of ones for each visible job, as wide as its demand and as high as its length; then
// the backlog, a cell for each job; then the time since the last arrival.
//
// A compact observation lists the number of jobs that run in each time step, the free slots of each resource in each
// time step, length and demands of each visible job, and the number of jobs in the backlog.
type Layout struct {
	// Image tells the two forms apart.
	Image bool
	// Resources, Slots, Horizon and Visible are the configuration's; Size is the largest demand that an image has room
	// for.
	Resources, Slots, Horizon, Visible, Size int

	steps, length, backlog int // bounds: jobs of an episode, their length, jobs in the backlog
	first, stride          int // of a compact observation: where the numbers of place 0 begin, and how many a place has
}

// NewLayout returns the layout of a valid configuration's observations.
func NewLayout(c *Config) Layout {
	return Layout{
		Image: c.Observation == Image, Resources: c.Resources, Slots: c.Slots, Horizon: c.Horizon, Visible: c.Visible,
		Size: c.largest(), steps: c.Steps, length: c.longest(), backlog: c.Backlog,
		first: (c.Resources + 1) * c.Horizon, stride: c.Resources + 1,
	}
}

// Columns of an image: those of one resource, of the backlog, and all of them.
func (l *Layout) perResource() int    { return l.Slots + l.Visible*l.Size }
func (l *Layout) backlogColumns() int { return (l.backlog + l.Horizon - 1) / l.Horizon }
func (l *Layout) columns() int        { return l.Resources*l.perResource() + l.backlogColumns() + 1 }

// Width is the number of values of an observation.
func (l *Layout) Width() int {
	if l.Image {
		return l.Horizon * l.columns()
	}
	return (l.Resources+1)*(l.Horizon+l.Visible) + 1
}

// block is where the image's block of a place begins in each row.
func (l *Layout) block(resource, place int) int {
	return resource*l.perResource() + l.Slots + place*l.Size
}

// row is where a compact observation's numbers of a place begin.
func (l *Layout) row(place int) int { return l.first + place*l.stride }

// Length is the length of the job in a visible place in time steps, 0 where there is none.
func (l *Layout) Length(values []float32, place int) int {
	if !l.Image {
		return int(values[l.first+place*l.stride])
	}
	return l.rows(values, place)
}

// rows is the height of the block of a visible place. It is a function of its own so that Length is inlined for compact
// observations.
func (l *Layout) rows(values []float32, place int) int {
	n := 0
	for at := l.block(0, place); n < l.Horizon && values[at] != 0; at += l.columns() {
		n++
	}
	return n
}

// Demand is the slots of a resource that the job in a visible place demands.
func (l *Layout) Demand(values []float32, place, resource int) int {
	if !l.Image {
		return int(values[l.row(place)+1+resource])
	}
	n := 0
	for at := l.block(resource, place); n < l.Size && values[at+n] != 0; {
		n++
	}
	return n
}

// Free is the slots of a resource that are free in a time step of the horizon, counted from now.
func (l *Layout) Free(values []float32, resource, step int) int {
	if !l.Image {
		return int(values[(1+resource)*l.Horizon+step])
	}
	n := 0
	at := step*l.columns() + resource*l.perResource()
	for _, x := range values[at : at+l.Slots] {
		if x == 0 {
			n++
		}
	}
	return n
}

// space is the space of observations.
func (l *Layout) space() envs.Box {
	if l.Image {
		return envs.NewBox(l.Width(), 0, 1)
	}
	b := envs.NewBox(l.Width(), 0, float32(l.backlog))
	fill(b.High[:l.Horizon], float32(l.steps))
	fill(b.High[l.Horizon:(l.Resources+1)*l.Horizon], float32(l.Slots))
	for p := range l.Visible {
		row := b.High[l.row(p):l.row(p+1)]
		fill(row, float32(l.Size))
		row[0] = float32(l.length)
	}
	return b
}

// doc says how an observation is laid out.
func (l *Layout) doc() string {
	if !l.Image {
		return "Numbers are not scaled. Time steps are counted from now, places and resources from 0."
	}
	return fmt.Sprintf("An image of %d rows, one for each time step from now on, and %d columns, row by row. For each of the "+
		"%d resources: %d columns for the cluster's slots, 0 where free and else the grey level of the job there, then for "+
		"each of the %d places a block of %d columns with ones, as wide as the job's demand and as high as its length. Then "+
		"%d columns with a one for each job in the backlog, and one column with the time since the last arrival, 0 to 1 for "+
		"0 to since steps.", l.Horizon, l.columns(), l.Resources, l.Slots, l.Visible, l.Size, l.backlogColumns())
}

// components describes a compact observation's features; the pixels of an image have no names.
func (l *Layout) components() (out []envs.Component) {
	if l.Image {
		return nil
	}
	add := func(name, unit, doc string) { out = append(out, envs.Component{Name: name, Unit: unit, Doc: doc}) }
	for t := range l.Horizon {
		add(fmt.Sprintf("jobs placed at +%d", t), "jobs", "jobs that run in this time step")
	}
	for r := range l.Resources {
		for t := range l.Horizon {
			add(fmt.Sprintf("free of resource %d at +%d", r, t), "slots", "slots that no job takes in this time step")
		}
	}
	for p := range l.Visible {
		add(fmt.Sprintf("length in place %d", p), "steps", "of the job in the place, 0 where there is none")
		for r := range l.Resources {
			add(fmt.Sprintf("demand of resource %d in place %d", r, p), "slots", "of the job in the place")
		}
	}
	add("backlog", "jobs", "jobs that wait beyond the places")
	return out
}

func fill(s []float32, x float32) {
	for i := range s {
		s[i] = x
	}
}
