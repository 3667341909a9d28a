package pricing

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
)

// TierPrice is what a provider sets for one tier in a window: the decision of a pricing policy.
type TierPrice struct {
	// Price is what a billing unit costs users.
	Price float64 `json:"price" unit:"money per billing unit"`
	// KeepAlive is the number of keep-alive vGPUs of the tier: its baseline.
	KeepAlive int `json:"keep_alive" unit:"vGPUs"`
}

// decodePrices writes what an action asks for. Baselines are projected onto the number of vGPUs: while their sum exceeds
// it, the largest loses one (the projection of eq. 13).
func decodePrices(a []float32, vgpus int, to []TierPrice) {
	n, sum := len(to), 0
	for m := range to {
		to[m] = TierPrice{float64(a[m]), int(a[n+m])}
		sum += to[m].KeepAlive
	}
	for ; sum > vgpus; sum-- {
		most := 0
		for m := range to {
			if to[m].KeepAlive > to[most].KeepAlive {
				most = m
			}
		}
		to[most].KeepAlive--
	}
}

// Prices writes what an action asks for: to has one entry for each tier. Keep-alive vGPUs that exceed the vGPUs together
// are taken back from the largest tiers, as the environment does.
func (o *Observer) Prices(act *envs.Action, to []TierPrice) error {
	if err := envs.CheckAction(o.spec, nil, act); err != nil {
		return err
	}
	if len(to) != len(o.cfg.Tiers) {
		return fmt.Errorf("%s: room for %d prices, want %d, one for each tier", ID, len(to), len(o.cfg.Tiers))
	}
	decodePrices(act.Kinds[0], o.cfg.VGPUs, to)
	return nil
}

// Fits returns an error where the keep-alive vGPUs that an action asks for exceed the vGPUs together. The environment
// then takes some back.
func (o *Observer) Fits(act *envs.Action) error {
	if err := envs.CheckAction(o.spec, nil, act); err != nil {
		return err
	}
	sum := 0
	for _, x := range act.Kinds[0][len(o.cfg.Tiers):] {
		sum += int(x)
	}
	if sum > o.cfg.VGPUs {
		return fmt.Errorf("%s: the tiers ask for %d keep-alive vGPUs, there are %d", ID, sum, o.cfg.VGPUs)
	}
	return nil
}

// Switches is what a provider does for one function in a slot: numbers of vGPUs, granted as far as there are.
type Switches struct {
	// Warm is how many to switch on that need no load, Cold of any that are off.
	Warm int32 `json:"warm"`
	Cold int32 `json:"cold"`
	// Release is how many idle transient ones to switch off, longest idle first.
	Release int32 `json:"release"`
	// Give is how many idle keep-alive ones to offer to functions of the same tier, Take how many of such offers to take.
	Give int32 `json:"give"`
	Take int32 `json:"take"`
}

// Switches writes what an action asks for: to has one entry for each function. Where an action is a choice of moves, how
// these are carried out depends on the meters from which the observation was made.
func (o *SlotObserver) Switches(act *envs.Action, m *SlotMeters, to []Switches) error {
	if err := envs.CheckAction(o.spec, nil, act); err != nil {
		return err
	}
	if len(to) != len(o.fn) {
		return fmt.Errorf("%s: room for the switches of %d functions, want %d", SlotsID, len(to), len(o.fn))
	}
	a := act.Kinds[0]
	if o.cfg.Acts == ActsMoves {
		if err := o.check(m); err != nil {
			return err
		}
		o.moves(a, m, to)
		return nil
	}
	for f := range to {
		row := a[f*Acts : (f+1)*Acts : (f+1)*Acts]
		to[f] = Switches{
			int32(row[ActWarm]), int32(row[ActCold]), int32(row[ActRelease]), int32(row[ActGive]), int32(row[ActTake]),
		}
	}
	return nil
}

// moves translates moves into numbers of vGPUs, as far as there are enough vGPUs.
func (o *SlotObserver) moves(moves []float32, m *SlotMeters, to []Switches) {
	clear(to)
	var offered [maxTiers]int32
	off, n := m.Off, len(o.fn)
	for f := range o.fn {
		less := MostOff - int32(moves[f])
		if less <= 0 {
			continue
		}
		r := min(less, m.Idle[f])
		g := min(less-r, m.IdleKeep[f])
		to[f].Release, to[f].Give = r, g
		off += r
		offered[o.fn[f].tier] += g
	}
	start := int(m.Slot % int64(n))
	for i := range n {
		f := (start + i) % n
		more := int32(moves[f]) - MostOff
		if more <= 0 {
			continue
		}
		on := min(more, off)
		warm := min(on, m.Warm[f])
		tier := &offered[o.fn[f].tier]
		take := min(more-on, *tier)
		to[f].Warm, to[f].Cold, to[f].Take = warm, on-warm, take
		off -= on
		*tier -= take
	}
}
