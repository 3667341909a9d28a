package pricing

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/baselines/internal/kept"
	"github.com/stoker-rl/stoker/agents/internal/saved"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/state"
)

// MQFQConfig configures [MQFQ]. Times are in slots, where the original has seconds.
type MQFQConfig struct {
	// Overrun is T: a function whose next start tag exceeds virtual time by more is throttled.
	Overrun float64 `yaml:"overrun" json:"overrun" range:"[0,1e9]"`
	// Weight is every function's weight.
	Weight float64 `yaml:"weight" json:"weight" range:"[1e-6,1e6]"`
	// Choice says which function gets the next vGPU. sticky: the one chosen last, while it may be; then the smallest
	// start tag, warm functions first. warm: warm functions first, then the smallest start tag (the code's default).
	// longest: of the first Among functions, the one with the longest queue.
	Choice string `yaml:"choice" json:"choice" oneof:"sticky|warm|longest"`
	// Among is the number of functions, in the order of their start tags, among which longest chooses.
	Among int `yaml:"among" json:"among" range:"[1,1e6]"`
}

// The values of [MQFQConfig.Choice].
const (
	ChooseSticky  = "sticky"
	ChooseWarm    = "warm"
	ChooseLongest = "longest"
)

// DefaultMQFQ returns the published code's defaults with the sticky choice. The TTL of 4 slots, after which an idle
// vGPU may change its function, is the environment's patience.
func DefaultMQFQ() MQFQConfig {
	return MQFQConfig{Overrun: 10, Weight: 1, Choice: ChooseSticky, Among: 3}
}

// Validate reports the first wrong field.
func (c *MQFQConfig) Validate() error { return bounds.Check(c) }

// MQFQ is MQFQ-Sticky on a fixed pool: fair queueing over functions by start tags, which lets a function keep its
// vGPUs. All jobs of a function are charged its mean service, so the tags in its queue are multiples of it, and the
// next job's start tag stands for all of them.
//
// In each slot, a function whose backlog exceeds its idle vGPUs asks for more, one at a time. Functions that are not
// throttled are chosen by their tags. The chosen one gets a vGPU that hosted it last, one that hosts nothing, or the
// one that has been idle longest, for at least the TTL.
type MQFQ struct {
	kept.Policy
	world
	config  MQFQConfig
	start   []float64 // S of each function's next job, F where none waits
	virtual float64   // VT
	chosen  int       // the function chosen last, -1 for none
	last    []float64 // backlogs at the end of the last slot
	// Buffers of one slot.
	want, spare, warm []int
	tag               []float64
}

// NewMQFQ returns the scheduler for environments such as env.
func NewMQFQ(c MQFQConfig, env envs.Env) (*MQFQ, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("mqfq: %w", err)
	}
	w, err := newWorld("mqfq", env, pricing.Fixed)
	if err != nil {
		return nil, err
	}
	p := &MQFQ{world: w, config: c, chosen: -1}
	p.Policy = kept.As("mqfq-sticky", p)
	for _, s := range []*[]float64{&p.start, &p.last, &p.tag} {
		*s = make([]float64, w.n)
	}
	for _, s := range []*[]int{&p.want, &p.spare, &p.warm} {
		*s = make([]int, w.n)
	}
	return p, nil
}

// Reset implements [envs.Policy].
func (p *MQFQ) Reset(uint64) error {
	clear(p.start)
	clear(p.last)
	p.virtual, p.chosen = 0, -1
	return nil
}

// Act implements [envs.Policy].
func (p *MQFQ) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	seen, do, err := p.rows(p.Name(), obs, act)
	if err != nil {
		return err
	}
	p.tags(seen)
	blank := int(see(seen, 0, pricing.SeesOff))
	for f := range p.n {
		// Idle vGPUs start the first jobs of their function's queue by themselves; the rest of the backlog asks for
		// more.
		idle := int(see(seen, f, pricing.SeesIdle))
		waits := backlog(seen, f)
		p.want[f] = max(0, waits-idle-int(see(seen, f, pricing.SeesLoading)))
		p.spare[f] = max(0, min(int(see(seen, f, pricing.SeesPatient)), idle-waits))
		p.warm[f] = int(see(seen, f, pricing.SeesWarm))
		p.tag[f] = p.start[f] + float64(float64(waits-p.want[f])*p.cost(seen, f))
	}
	for {
		f := p.choose(seen)
		if f < 0 {
			return nil
		}
		switch {
		case p.warm[f] > 0 && blank > 0:
			do[f*pricing.Acts+pricing.ActWarm]++
			p.warm[f]--
			blank--
		case blank > 0:
			do[f*pricing.Acts+pricing.ActCold]++
			blank--
		default:
			g := p.victim(seen, f)
			if g < 0 {
				return nil
			}
			p.spare[g]--
			do[g*pricing.Acts+pricing.ActRelease]++
			do[f*pricing.Acts+pricing.ActCold]++
		}
		p.want[f]--
		p.tag[f] += p.cost(seen, f)
		p.chosen = f
	}
}

// cost is what a job adds to its function's tags.
func (p *MQFQ) cost(seen []float32, f int) float64 {
	return see(seen, f, pricing.SeesService) / p.config.Weight
}

// tags updates start tags and virtual time (VT) for this slot. Jobs that began advance their function's start tag; a
// function without waiting jobs before starts at S = max(VT, F). VT is the least start tag of the functions with a
// backlog, that is, with more jobs than their idle vGPUs start at once. Without a backlog the busy period has ended,
// and VT becomes the largest tag, as in start-time fair queueing.
func (p *MQFQ) tags(seen []float32) {
	least, most, any := 0.0, p.virtual, false
	for f := range p.n {
		begun, waits := see(seen, f, pricing.SeesBegun), float64(backlog(seen, f))
		p.start[f] += float64(begun * p.cost(seen, f))
		if p.last[f]-begun <= 0 && waits > 0 {
			p.start[f] = max(p.start[f], p.virtual)
		}
		p.last[f] = waits
		most = max(most, p.start[f])
		if waits > see(seen, f, pricing.SeesIdle) && (!any || p.start[f] < least) {
			least, any = p.start[f], true
		}
	}
	if !any {
		least = most
	}
	p.virtual = max(p.virtual, least)
}

// choose is the function that gets the next vGPU, -1 where none needs one or all are throttled.
func (p *MQFQ) choose(seen []float32) int {
	active := func(f int) bool { return p.want[f] > 0 && p.tag[f]-p.virtual <= p.config.Overrun }
	if f := p.chosen; p.config.Choice == ChooseSticky && f >= 0 && f < p.n && active(f) {
		return f
	}
	best, before := -1, func(f, g int) bool { return p.tag[f] < p.tag[g] }
	if p.config.Choice == ChooseLongest {
		return p.longest(active)
	}
	for f := range p.n {
		if !active(f) {
			continue
		}
		warmer := best >= 0 && p.warm[f] > 0 && p.warm[best] == 0
		cooler := best >= 0 && p.warm[f] == 0 && p.warm[best] > 0
		if best < 0 || warmer || !cooler && before(f, best) {
			best = f
		}
	}
	return best
}

// longest is, of the functions with the smallest tags, the one with the longest queue, then with the smallest tag.
func (p *MQFQ) longest(active func(int) bool) int {
	best, floor, floorAt := -1, -1.0, -1
	for range p.config.Among {
		next := -1
		for f := range p.n {
			after := p.tag[f] > floor || p.tag[f] == floor && f > floorAt
			if active(f) && after && (next < 0 || p.tag[f] < p.tag[next]) {
				next = f
			}
		}
		if next < 0 {
			break
		}
		floor, floorAt = p.tag[next], next
		if best < 0 || p.want[next] > p.want[best] {
			best = next
		}
	}
	return best
}

// victim is the function whose idle vGPU is taken: the longest idle one among those idle for the TTL, -1 where there is
// none.
func (p *MQFQ) victim(seen []float32, f int) int {
	best := -1
	for g := range p.n {
		if g != f && p.spare[g] > 0 && (best < 0 || see(seen, g, pricing.SeesIdleSince) > see(seen, best,
			pricing.SeesIdleSince)) {
			best = g
		}
	}
	return best
}

// State implements [state.Stater].
func (p *MQFQ) State(c *state.Codec) {
	state.Fixed(c, p.start)
	state.Fixed(c, p.last)
	state.Value(c, &p.virtual)
	state.Value(c, &p.chosen)
	saved.Finite(c, "start tag", p.start...)
	saved.Finite(c, "backlog", p.last...)
	saved.Finite(c, "virtual time", p.virtual)
	if c.Loaded() && (p.chosen < -1 || p.chosen >= p.n) {
		c.Fail(fmt.Errorf("function %d chosen last, want -1 to %d", p.chosen, p.n-1))
	}
}
