package pricing

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
)

// ARMSConfig is what the paper leaves open of its scheduler.
type ARMSConfig struct {
	// Gamma weighs deficits in the score, and the queue of the function that a switched vGPU leaves.
	Gamma float64 `yaml:"gamma" json:"gamma" range:"[0,1e6]"`
	// Requirement is slack (a queue must be served within half the SLA, for which the tier can wait) or literal (within
	// the slot, eq. 14 as printed, which causes some ten times the activations).
	Requirement string `yaml:"requirement" json:"requirement" oneof:"slack|literal"`
	// Penalty multiplies the vGPUs that a function lacks by its tier's penalty; the printed score does not.
	Penalty bool `yaml:"penalty" json:"penalty"`
	// Donors of keep-alive vGPUs, where no vGPU is off, are functions that have more than they require (spare), or of
	// these only those for which no job waits (empty). The paper has no such case.
	Donors string `yaml:"donors" json:"donors" oneof:"spare|empty"`
	// Late counts jobs in the queue that are too late already.
	Late bool `yaml:"late" json:"late"`
}

// Requirements, as [ARMSConfig.Requirement] names them.
const (
	SlackRequirement   = "slack"
	LiteralRequirement = "literal"
)

// Donors, as [ARMSConfig.Donors] names them.
const (
	SpareDonors = "spare"
	EmptyDonors = "empty"
)

// DefaultARMS returns the resolutions that docs/pricing.md lists.
func DefaultARMS() ARMSConfig {
	return ARMSConfig{Gamma: 0.5, Requirement: SlackRequirement, Penalty: true, Donors: SpareDonors}
}

// Validate reports the first field that is wrong.
func (c *ARMSConfig) Validate() error { return bounds.Check(c) }

// ARMS is the paper's scheduler (Algorithm 2) on the scheduling environment. Stage 1 finds how many vGPUs each function
// requires (eq. 14) and, in the order of a score, switches keep-alive vGPUs or activates transient ones, whichever is
// cheaper. Stage 2, the matching by eqs. 15 and 16, is the world's own dispatch: a vGPU serves one function and a
// function has one tier, so that the priorities order jobs of one deadline distance, by arrival.
type ARMS struct {
	config                ARMSConfig
	gpu, change           float64
	shared, empty         bool
	deficit               []float64 // D_f
	order                 []ranked  // functions that lack vGPUs
	need, active          []int32   // required, and deployed by what has been decided
	idle, idleKeep, queue []int32
	tiers                 []tierPlan // the tiers' functions
	spare                 []int32    // functions of each tier that could give a keep-alive vGPU, at most
}

// ranked is a function and its score.
type ranked struct {
	score float64
	f     int32
}

// NewARMS returns a scheduler for the environments of a configuration.
func NewARMS(c ARMSConfig, env *Config) (*ARMS, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("arms: %w", err)
	}
	n := env.functions()
	p := &ARMS{
		config: c, gpu: env.Costs.GPU, change: env.Costs.Switch, shared: env.Layout.Warm == WarmShared,
		empty:   c.Donors == EmptyDonors,
		deficit: make([]float64, n), order: make([]ranked, 0, n), need: make([]int32, n), active: make([]int32, n),
		idle: make([]int32, n), idleKeep: make([]int32, n), queue: make([]int32, n), spare: make([]int32, len(env.Tiers)),
	}
	from := 0
	for i := range env.Tiers {
		p.tiers = append(p.tiers, tierPlan{from, from + env.Tiers[i].Functions})
		from += env.Tiers[i].Functions
	}
	return p, nil
}

// Name implements [envs.Policy].
func (*ARMS) Name() string { return ARMSName }

// Reset implements [envs.Policy].
func (p *ARMS) Reset(uint64) error {
	clear(p.deficit)
	return nil
}

// required is eq. 14 for one function: the vGPUs that serve its queue within the slots that its tier can wait, or its
// forecast.
func (p *ARMS) required(o []float32) int32 {
	q, w := float64(o[SeesQueue]), float64(o[SeesService])
	if p.config.Late {
		q += float64(o[SeesLate])
	}
	forecast := float64(float64(o[SeesEstimate]) * w)
	if p.config.Requirement == LiteralRequirement {
		return up(float64(q*w) + forecast)
	}
	slack := (float64(o[SeesSLA]) + 1) / 2
	return max(up(q*w/slack), up(forecast))
}

// up rounds a number that is not negative up; observations are rounded.
func up(x float64) int32 {
	x -= 1e-6
	n := int32(x)
	if float64(n) < x {
		n++
	}
	return n
}

// Act implements [envs.Policy].
func (p *ARMS) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	seen, a := obs.Kinds[0].Values, act.Kinds[0]
	if len(seen) != len(p.deficit)*Sees || len(a) != len(p.deficit)*Acts {
		return fmt.Errorf("arms: observes %d numbers, want %d of %s", len(seen), len(p.deficit)*Sees, SlotsID)
	}
	clear(a)
	off := int32(seen[SeesOff])
	for f := range p.need {
		o := seen[f*Sees : (f+1)*Sees : (f+1)*Sees]
		// Transient vGPUs that have been idle for long go off; the paper has no rule for that.
		patient := int32(o[SeesPatient])
		a[f*Acts+ActRelease] = o[SeesPatient]
		off += patient
		p.idle[f], p.idleKeep[f] = int32(o[SeesIdle])-patient, int32(o[SeesIdleKeep])
		p.active[f] = int32(o[SeesKeep]) + int32(o[SeesTransient]) - patient
		p.need[f], p.queue[f] = p.required(o), int32(o[SeesQueue])
	}
	p.rank(seen)
	donor := 0 // of idle transient vGPUs
	for i := range p.order {
		f := int(p.order[i].f)
		warm := int32(seen[f*Sees+SeesWarm])
		if !p.shared {
			warm += int32(a[f*Acts+ActRelease]) // what is released has hosted it last
		}
		for p.active[f] < p.need[f] {
			if !p.step(seen, a, f, &off, &warm, &donor) {
				break
			}
			p.active[f]++
		}
	}
	return nil
}

// rank puts the functions that lack vGPUs into the order of their scores.
func (p *ARMS) rank(seen []float32) {
	p.order = p.order[:0]
	clear(p.spare)
	for f, need := range p.need {
		lack := need - p.active[f]
		if lack <= 0 {
			p.deficit[f] = 0
			if lack < 0 && p.idleKeep[f] > 0 {
				p.spare[int(seen[f*Sees+SeesTier])]++
			}
			continue
		}
		p.deficit[f] += float64(lack)
		weight := 1.0
		if p.config.Penalty {
			weight = float64(seen[f*Sees+SeesPenalty])
		}
		p.order = append(p.order, ranked{float64(float64(lack)*weight) + float64(p.config.Gamma*p.deficit[f]), int32(f)})
	}
	slices.SortFunc(p.order, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.f, b.f))
	})
}

// step gets function f one vGPU more, and returns false where there is none to be had.
func (p *ARMS) step(seen, a []float32, f int, off, warm *int32, donor *int) bool {
	// Lines 6 to 10: the cheaper of switching a keep-alive vGPU and activating a transient one.
	if p.change < p.gpu {
		if g := p.keeper(seen, f, p.gpu); g != none {
			p.exchange(a, g, f)
			return true
		}
	}
	if *off > 0 {
		*off--
		if *warm > 0 {
			*warm--
			a[f*Acts+ActWarm]++
		} else {
			a[f*Acts+ActCold]++
		}
		return true
	}
	// Where no vGPU is off, which Algorithm 2 does not foresee: reclaim an idle transient one of a function that has
	// more than it requires.
	for ; *donor < len(p.idle); *donor++ {
		if g := *donor; g != f && p.idle[g] > 0 && p.active[g] > p.need[g] && p.queue[g] == 0 {
			p.idle[g]--
			p.active[g]--
			a[g*Acts+ActRelease]++
			a[f*Acts+ActCold]++
			return true
		}
	}
	if g := p.keeper(seen, f, math.Inf(1)); g != none {
		p.exchange(a, g, f)
		return true
	}
	p.spare[int(seen[f*Sees+SeesTier])] = 0 // nor will others of the tier find one in this slot
	return false
}

// keeper is the function whose keep-alive vGPU is the cheapest to switch to f, below a price: one of f's tier (eq. 10)
// that has more than it requires. The cost of switching includes that function's queue.
func (p *ARMS) keeper(seen []float32, f int, below float64) int {
	best := none
	tier := int(seen[f*Sees+SeesTier])
	if p.spare[tier] == 0 {
		return none
	}
	for g := p.tiers[tier].from; g < p.tiers[tier].to; g++ {
		if g == f || p.idleKeep[g] == 0 || p.active[g] <= p.need[g] || p.empty && p.queue[g] > 0 {
			continue
		}
		if cost := p.change + float64(p.config.Gamma*float64(p.queue[g])); cost < below {
			best, below = g, cost
		}
	}
	return best
}

func (p *ARMS) exchange(a []float32, g, f int) {
	p.idleKeep[g]--
	p.active[g]--
	a[g*Acts+ActGive]++
	a[f*Acts+ActTake]++
}

// CopyFrom implements [envs.Policy].
func (p *ARMS) CopyFrom(src envs.Policy) error { return envs.CopyPolicy(p, src) }

// AppendBinary implements [envs.Policy].
func (p *ARMS) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, p.Name(), p) }

// UnmarshalBinary implements [envs.Policy].
func (p *ARMS) UnmarshalBinary(b []byte) error { return state.Load(b, p.Name(), p) }

// State implements [state.Stater].
func (p *ARMS) State(c *state.Codec) {
	state.Fixed(c, p.deficit)
	if c.Loaded() {
		for f, d := range p.deficit {
			c.Check(d >= 0, "function %d has a deficit of %g, want 0 or more", f, d)
		}
	}
}
