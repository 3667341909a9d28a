package envs_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
)

// Sizes of the HOPS toy: tiers with one function each, vGPUs, slots of a window, windows of an episode.
const (
	tiers   = 3
	vgpus   = 8
	slots   = 6
	windows = 5
	slotLen = 60_000_000
)

// hops is the world behind both faces. State, in x: queues, what each vGPU hosts (0 none, f+1 a function) and for how
// many slots it is busy, prices, keep-alive numbers, requests arrived so far, slots so far.
type hops struct{ toy }

func (h *hops) queue() []float64   { return h.x[0:3] }
func (h *hops) host() []float64    { return h.x[3:11] }
func (h *hops) busy() []float64    { return h.x[11:19] }
func (h *hops) price() []float64   { return h.x[19:22] }
func (h *hops) keep() []float64    { return h.x[22:25] }
func (h *hops) arrived() []float64 { return h.x[25:28] }
func (h *hops) slot() *float64     { return &h.x[28] }

const hopsNumbers = 29

// fits says whether a function may be deployed on a vGPU now; function 0 ends the slot and is said to be on vGPU 0.
func fits(function, vgpu int, host, busy func(int) float64) bool {
	if function == 0 {
		return vgpu == 0
	}
	return busy(vgpu) == 0 && host(vgpu) != float64(function)
}

func (h *hops) fits(function, vgpu int) bool {
	return fits(function, vgpu, func(i int) float64 { return h.host()[i] }, func(i int) float64 { return h.busy()[i] })
}

// deploy loads a function on a vGPU, which takes the slot.
func (h *hops) deploy(function, vgpu int) {
	h.host()[vgpu], h.busy()[vgpu] = float64(function), 1
}

// endSlot lets requests arrive and be served, and returns revenue and how many vGPUs were busy. Demand falls with the
// price.
func (h *hops) endSlot() (revenue, used float64) {
	slot := uint64(*h.slot())
	for f := range tiers {
		u := h.draw("arrivals", uint64(f), slot, 0)
		n := math.Floor(float64(u*4) / (1 + h.price()[f]))
		h.queue()[f] += n
		h.arrived()[f] += n
		revenue += float64(n * h.price()[f])
	}
	for j := range vgpus {
		if h.busy()[j] > 0 {
			h.busy()[j]--
			used++
		} else if f := int(h.host()[j]) - 1; f >= 0 && h.queue()[f] > 0 {
			// The request is named by its number, not by when or where it is served.
			request := uint64(h.arrived()[f] - h.queue()[f])
			h.queue()[f]--
			h.busy()[j] = math.Floor(3 * h.draw("service", uint64(f), request, 0))
			used++
		}
	}
	*h.slot()++
	return revenue, used
}

// slotSpec is the scheduling face: one decision after another within a slot, then the slot passes.
var slotSpec = envs.Spec{
	ID: "test/HopsSlots-v1", Doc: "A scheduler deploys functions on vGPUs, one at a time, until it lets the slot pass.",
	Kinds: []envs.Kind{{
		Name: "scheduler", Agents: 1,
		Observation: envs.Dict{Keys: []string{"queue", "hosted", "busy"}, Tuple: envs.Tuple{Spaces: []envs.Space{
			envs.NewBox(tiers, 0, float32(math.Inf(1))), envs.NewBox(vgpus, 0, tiers), envs.NewBox(vgpus, 0, 3)}}},
		Action: envs.MultiDiscrete{N: []int{tiers + 1, vgpus}}, Actions: []string{"function", "vgpu"},
		MaskAfter: slotMask,
	}},
	Step: envs.Timing{Unit: "decision"},
	Info: []envs.Quantity{{Name: "revenue", Unit: "USD", Better: envs.Higher, Reduce: envs.Sum}},
}

// slotMask reads the scheduler's observation.
func slotMask(obs *envs.KindObservation, agent int, partial []float32, mask []bool) error {
	host := func(i int) float64 { return float64(obs.Values[tiers+i]) }
	busy := func(i int) float64 { return float64(obs.Values[tiers+vgpus+i]) }
	for c := range mask {
		if len(partial) == 1 {
			mask[c] = fits(int(partial[0]), c, host, busy)
			continue
		}
		mask[c] = false
		for j := range vgpus {
			mask[c] = mask[c] || fits(c, j, host, busy)
		}
	}
	return nil
}

// seeSlot writes what the scheduler sees.
func (h *hops) seeSlot(o *envs.Observation) {
	k := &o.Kinds[0]
	for i, v := range h.x[:tiers+2*vgpus] {
		k.Values[i] = float32(v)
	}
	k.Active[0] = true
	for c := range tiers + 1 {
		k.Mask[c] = false
		for j := range vgpus {
			k.Mask[c] = k.Mask[c] || h.fits(c, j)
		}
	}
	for j := range vgpus {
		m := false
		for f := range tiers + 1 {
			m = m || h.fits(f, j)
		}
		k.Mask[tiers+1+j] = m
	}
}

type hopsSlots struct{ hops }

func newHOPSSlots() (envs.Env, error) {
	return &hopsSlots{hops{toy{spec: &slotSpec, x: make([]float64, hopsNumbers)}}}, nil
}

func (h *hopsSlots) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	if err := h.begin(seed, options); err != nil {
		return err
	}
	h.seeSlot(obs)
	return nil
}

func (h *hopsSlots) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if err := h.admit(nil, act); err != nil {
		return err
	}
	function, vgpu := int(act.Kinds[0][0]), int(act.Kinds[0][1])
	if !h.fits(function, vgpu) {
		return fmt.Errorf("function %d cannot be deployed on vGPU %d now", function, vgpu)
	}
	var revenue float64
	var elapsed int64
	if function == 0 {
		revenue, _ = h.endSlot()
		elapsed = slotLen
	} else {
		h.deploy(function, vgpu)
	}
	out.Rewards[0][0], out.Info[0] = float32(revenue), revenue
	h.end(out, false, *h.slot() >= slots*windows, elapsed)
	h.seeSlot(obs)
	return nil
}

// longest deploys the function with the longest queue once a slot. It counts what it has done, as real schedulers keep
// filters and tags.
type longest struct{ deployed, last uint64 }

func (*longest) Name() string         { return "longest queue" }
func (p *longest) Reset(uint64) error { *p = longest{}; return nil }

func (p *longest) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	a, o := act.Kinds[0], &obs.Kinds[0]
	a[0], a[1] = 0, 0
	best := 0
	for f := range tiers {
		if o.Values[f] > o.Values[best] {
			best = f
		}
	}
	var mask [vgpus]bool
	a[0] = float32(best + 1)
	if err := slotMask(o, 0, a[:1], mask[:]); err != nil {
		return err
	}
	for j := range mask {
		if j = (j + int(p.last)) % vgpus; mask[j] && o.Values[best] > 1 {
			a[1] = float32(j)
			p.last, p.deployed = uint64(j)+1, p.deployed+1
			return nil
		}
	}
	a[0], a[1] = 0, 0
	return nil
}

func (p *longest) CopyFrom(src envs.Policy) error { *p = *src.(*longest); return nil }
func (p *longest) AppendBinary(b []byte) ([]byte, error) {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, p.deployed), p.last), nil
}
func (p *longest) UnmarshalBinary(b []byte) error {
	if len(b) != 16 {
		return fmt.Errorf("policy state has %d bytes, want 16", len(b))
	}
	p.deployed, p.last = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	return nil
}

// hopsPrices is the pricing face: a step is a window, within which a policy of the scheduling face acts.
type hopsPrices struct {
	hops
	scheduler envs.Policy
	obs       *envs.Observation
	act       *envs.Action
}

var priceSpec = envs.Spec{
	ID: "test/HopsPrices-v1", Doc: "A provider sets each tier's price and keep-alive vGPUs for the next window.",
	Kinds: []envs.Kind{{
		Name: "provider", Agents: 1, Observation: envs.NewBox(9, 0, float32(math.Inf(1))),
		Action: envs.Box{
			Low: make([]float32, 2*tiers), High: []float32{3, 3, 3, vgpus, vgpus, vgpus},
			Integer: []bool{false, false, false, true, true, true},
		},
		Actions: []string{"price 1", "price 2", "price 3", "keep 1", "keep 2", "keep 3"},
	}},
	Step: envs.Timing{Unit: "window", Fixed: slots * slotLen}, MaxSteps: windows,
	Info: []envs.Quantity{
		{Name: "profit", Unit: "USD", Better: envs.Higher, Reduce: envs.Sum},
		{Name: "utilisation", Unit: "share", Better: envs.Neither, Reduce: envs.PerTime},
	},
}

func newHOPSPrices() (envs.Env, error) {
	return &hopsPrices{hops: hops{toy{spec: &priceSpec, x: make([]float64, hopsNumbers)}}, scheduler: &longest{},
		obs: envs.NewObservation(&slotSpec), act: envs.NewAction(&slotSpec)}, nil
}

func (h *hopsPrices) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	if err := h.begin(seed, options); err != nil {
		return err
	}
	see(obs, h.x[19:28]...)
	return h.scheduler.Reset(seed)
}

func (h *hopsPrices) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if err := h.admit(nil, act); err != nil {
		return err
	}
	for i, v := range act.Kinds[0] {
		h.x[19+i] = float64(v)
	}
	var profit, used float64
	for range slots {
		for {
			h.seeSlot(h.obs)
			if err := h.scheduler.Act(h.obs, h.act, true); err != nil {
				return err
			}
			if h.act.Kinds[0][0] == 0 {
				break
			}
			h.deploy(int(h.act.Kinds[0][0]), int(h.act.Kinds[0][1]))
		}
		revenue, n := h.endSlot()
		profit += revenue - float64(0.1*(h.keep()[0]+h.keep()[1]+h.keep()[2]))
		used += n
	}
	out.Rewards[0][0] = float32(profit)
	out.Info[0], out.Info[1] = profit, used/(slots*vgpus)
	h.end(out, false, h.step+1 == windows, slots*slotLen)
	see(obs, h.x[19:28]...)
	return nil
}

// Copying and saving take the policy inside along.
func (h *hopsPrices) CopyFrom(src envs.Env) error {
	s, ok := src.(*hopsPrices)
	if !ok {
		return fmt.Errorf("copy from %T", src)
	}
	if err := h.hops.CopyFrom(s); err != nil {
		return err
	}
	return h.scheduler.CopyFrom(s.scheduler)
}

func (h *hopsPrices) AppendBinary(b []byte) ([]byte, error) {
	b, err := h.hops.AppendBinary(b)
	if err != nil {
		return nil, err
	}
	return h.scheduler.AppendBinary(b)
}

func (h *hopsPrices) UnmarshalBinary(b []byte) error {
	at := min(len(b), 17+8*hopsNumbers)
	if err := h.hops.UnmarshalBinary(b[:at]); err != nil {
		return err
	}
	return h.scheduler.UnmarshalBinary(b[at:])
}

// HOPS' two-point gradient: two actions tried from one state on a copy, then a third in the world itself. The draws are
// the same for all three, so the two points differ by their prices alone.
func TestTwoActionsFromOneState(t *testing.T) {
	world := must.Get(newHOPSPrices())(t)
	try := must.Get(newHOPSPrices())(t)
	s := world.Spec()
	obs, act, out := envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)
	must.Do(t, world.Reset(4, nil, obs))
	profit := func(e envs.Env, price float32) float64 {
		t.Helper()
		copy(act.Kinds[0], []float32{price, price, price, 1, 1, 1})
		must.Do(t, e.Step(act, obs, out))
		return out.Info[0]
	}
	tried := make([]float64, 0, 3)
	for _, price := range []float32{0.9, 1.1, 1} {
		must.Do(t, try.CopyFrom(world))
		tried = append(tried, profit(try, price))
	}
	if real := profit(world, 1); real != tried[2] {
		t.Errorf("the world gives %g after two trials on a copy, a fresh copy gave %g", real, tried[2])
	}
	if tried[0] == tried[1] {
		t.Errorf("both prices give %g; the trial cannot tell them apart", tried[0])
	}
}
