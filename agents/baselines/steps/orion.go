package steps

import (
	"slices"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/internal/reuse"
	"github.com/stoker-rl/stoker/rng"
)

// OrionConfig configures [NewOrion].
type OrionConfig struct {
	// Quantile is that of the end-to-end time which is to be within the limit.
	Quantile float64 `yaml:"quantile" json:"quantile" range:"(0,1)"`
	// Instances is the number of instances of every step.
	Instances int `yaml:"instances" json:"instances" range:"[1,1000]"`
	// Draws is the number of draws of which the end-to-end distribution is made.
	Draws int `yaml:"draws" json:"draws" range:"[16,65536]"`
}

// DefaultOrion bounds the 95th percentile, with 16 instances a step.
func DefaultOrion() OrionConfig { return OrionConfig{Quantile: 0.95, Instances: 16, Draws: 256} }

// profiled are the memory sizes in MB at which Orion measures; in between it interpolates.
var profiled = [...]int{1024, 2048, 5120, 10240}

// NewOrion returns Orion's sizing (OSDI 2022): before the first step, every step has the smallest memory of at least 1 GB;
// the step is raised by a size that lowers the quantile of the end-to-end time most, until it is within the limit or all
// are at the largest size. Processes follow from memory (its bundles): as many as there are cores. The number of instances
// is fixed.
//
// The end-to-end distribution is that of as many draws of every step, where Orion adds up on a grid of 100 ms: the same
// law, with the error of the draws. Percentiles between the four sizes that it measures are interpolated, as it does.
func NewOrion(c OrionConfig) (steps.Decider, error) {
	if err := bounds.Check(&c); err != nil {
		return nil, err
	}
	o := &orion{config: c}
	o.tables.make = o.profile
	return &static{plan: o.plan}, nil
}

type orion struct {
	config OrionConfig
	tables tables[*steps.Model, *drawn]
	// Scratch.
	place       []int
	after, ends []float64
}

// drawn is what Orion knows of a workflow.
type drawn struct {
	graph
	sizes []menu        // per step, ascending memory
	times [][][]float64 // per step, size and draw
}

// profile draws times of all steps and sizes.
func (o *orion) profile(m *steps.Model) *drawn {
	d := &drawn{graph: newGraph(m.Flow)}
	n := o.config.Draws
	for v := range m.NumSteps() {
		l := bySize(m, v, o.config.Instances)
		levels := make([]float64, n)
		for k, j := range rng.New(uint64(v), "orion").Stream().Rand().Perm(n) {
			levels[k] = (float64(j) + 0.5) / float64(n)
		}
		known := map[int][]float64{}
		at := func(i int) []float64 {
			if known[i] == nil {
				known[i] = o.sampled(m, v, l[i].code, levels)
			}
			return known[i]
		}
		times := make([][]float64, len(l))
		for i := range l {
			lo, hi, f := between(l, i)
			a, b := at(lo), at(hi)
			for k := range n {
				times[i] = append(times[i], a[k]+float64(f*(b[k]-a[k])))
			}
		}
		d.sizes, d.times = append(d.sizes, l), append(d.times, times)
	}
	return d
}

// sampled returns a step's times at some levels, on straight lines between the quantiles at knots.
func (o *orion) sampled(m *steps.Model, v, code int, levels []float64) []float64 {
	var at [len(knots)]float64
	for j, level := range knots {
		at[j] = m.Seconds(v, code, level, 0)
	}
	out := make([]float64, len(levels))
	for k, level := range levels {
		j, _ := slices.BinarySearch(knots[:], level)
		j = min(max(j, 1), len(knots)-1)
		out[k] = at[j-1] + float64((at[j]-at[j-1])*(level-knots[j-1])/(knots[j]-knots[j-1]))
	}
	return out
}

// bySize returns the options of a step with a fixed number of instances and the most processes, by memory from 1 GB on.
func bySize(m *steps.Model, v, instances int) menu {
	if m.Free(v) {
		return newMenu(m, v, Parallelism{}, 0.5)
	}
	var l menu
	for _, c := range (Parallelism{Instances: instances, Processes: m.Platform.MaxProcesses}).allows(m, v) {
		if c.option.MB >= profiled[0] || len(m.Platform.Memory) == 1 {
			l = append(l, c)
		}
	}
	if len(l) == 0 {
		l = Parallelism{Instances: instances, Processes: m.Platform.MaxProcesses}.allows(m, v)
	}
	return l
}

// between returns the sizes that are measured around one, and how far it is from the first to the second.
func between(l menu, i int) (lo, hi int, f float64) {
	mb := l[i].option.MB
	lo, hi = i, i
	if slices.Contains(profiled[:], mb) {
		return i, i, 0
	}
	for lo > 0 && !slices.Contains(profiled[:], l[lo].option.MB) {
		lo--
	}
	for hi < len(l)-1 && !slices.Contains(profiled[:], l[hi].option.MB) {
		hi++
	}
	if lo == hi {
		return i, i, 0
	}
	a, b := l[lo].option.MB, l[hi].option.MB
	return lo, hi, float64(mb-a) / float64(b-a)
}

// plan raises sizes until the quantile is within the limit.
func (o *orion) plan(m *steps.Model, slo float64, choice []int) {
	d := o.tables.of(m)
	o.place = reuse.Slice(o.place, len(choice))
	clear(o.place)
	for o.quantile(d) > slo {
		best, least, usd := -1, 0.0, 0.0
		for v := range o.place {
			if o.place[v]+1 >= len(d.sizes[v]) {
				continue
			}
			o.place[v]++
			t, more := o.quantile(d), d.sizes[v][o.place[v]].option.USD-d.sizes[v][o.place[v]-1].option.USD
			o.place[v]--
			if best < 0 || t < least || t == least && more < usd {
				best, least, usd = v, t, more
			}
		}
		if best < 0 {
			break
		}
		o.place[best]++
	}
	for v, i := range o.place {
		choice[v] = d.sizes[v][i].code
	}
}

// quantile returns that of the end-to-end time, by the draws.
func (o *orion) quantile(d *drawn) float64 {
	n := o.config.Draws
	o.after, o.ends = reuse.Slice(o.after, len(o.place)), reuse.Slice(o.ends, n)
	for k := range n {
		for j := len(d.order) - 1; j >= 0; j-- {
			v := d.order[j]
			rest := 0.0
			for _, w := range d.next[v] {
				rest = max(rest, o.after[w])
			}
			o.after[v] = d.times[v][o.place[v]][k] + rest
		}
		o.ends[k] = o.after[d.order[0]]
	}
	slices.Sort(o.ends)
	return o.ends[min(n-1, int(o.config.Quantile*float64(n)))]
}
