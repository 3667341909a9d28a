package pricing

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/envs"
)

// tierKeys are the keys of what is seen of each tier, and meterKeys those of the rest, in the order of the observation.
var (
	tierKeys  = []string{"price", "keep_alive", "rate", "arrived", "violated", "begun", "waiting"}
	meterKeys = []string{"potential", "next", "next", "revenue", "base", "gpu", "switch", "sla", "utilisation"}
)

// Key is the key of the reading that a feature shows, as in tiers[0].rate. The time of day is next's.
func (o *Observer) Key(feature int) string {
	if n := len(tierKeys); feature < n*len(o.cfg.Tiers) {
		return fmt.Sprintf("tiers[%d].%s", feature/n, tierKeys[feature%n])
	}
	return meterKeys[feature-len(tierKeys)*len(o.cfg.Tiers)]
}

// Example returns meters that are observed as seen is, but for rounding.
func (o *Observer) Example(seen *envs.Observation) *Meters {
	row := seen.Kinds[0].Values
	m := &Meters{Tiers: make([]TierMeters, len(o.cfg.Tiers))}
	at := func(i int) float64 { return rounded(row[i]) }
	for i := range m.Tiers {
		from := i * len(tierKeys)
		m.Tiers[i] = TierMeters{TierPrice: TierPrice{Price: at(from), KeepAlive: int(at(from + 1))}, Rate: at(from + 2),
			Arrived: at(from + 3), Violated: at(from + 4), Begun: at(from + 5), Waiting: int(at(from + 6))}
	}
	from := len(m.Tiers) * len(tierKeys)
	day := math.Atan2(float64(row[from+1]), float64(row[from+2])) / (2 * math.Pi)
	m.Next = int64(math.Round((day-math.Floor(day))*float64(o.cfg.Demand.Period))) % int64(o.cfg.Demand.Period)
	m.Potential, m.Revenue, m.Base, m.GPU = at(from), at(from+3), at(from+4), at(from+5)
	m.Switch, m.SLA, m.Utilisation = at(from+6), at(from+7), min(1, at(from+8))
	return m
}

// slotKeys are the keys of what a scheduler sees, by its place: those of functions end in [], those of tiers begin with
// tiers. What has none is of the configuration.
var slotKeys = [Sees]string{
	SeesQueue: "queue[]", SeesLate: "late[]", SeesArrived: "arrived[]", SeesEstimate: "estimate[]",
	SeesViolated: "violated[]", SeesBegun: "begun[]", SeesWait: "wait[]", SeesKeep: "keep[]",
	SeesTransient: "transient[]", SeesIdleKeep: "idle_keep[]", SeesIdle: "idle[]", SeesPatient: "patient[]",
	SeesIdleSince: "idle_since[]", SeesLoading: "loading[]", SeesWarm: "warm[]", SeesOff: "off",
	SeesPrice: "tiers[].price", SeesBaseline: "tiers[].keep_alive", SeesLeft: "slot",
}

// Key is the key of the reading that a feature of a function shows, as in queue[3]; "" where it is configured.
func (o *SlotObserver) Key(function, feature int) string {
	of := function
	if feature == SeesPrice || feature == SeesBaseline {
		of = o.fn[function].tier
	}
	return strings.Replace(slotKeys[feature], "[]", fmt.Sprintf("[%d]", of), 1)
}

// Example returns meters that are observed as seen is, but for rounding.
func (o *SlotObserver) Example(seen *envs.Observation) *SlotMeters {
	m := NewSlotMeters(len(o.cfg.Tiers), len(o.fn))
	whole := func(x float32) int32 { return int32(max(0, math.Round(float64(x)))) }
	for f := range o.fn {
		row := seen.Kinds[0].Values[f*Sees : (f+1)*Sees]
		m.Tiers[o.fn[f].tier] = TierPrice{rounded(row[SeesPrice]), int(whole(row[SeesBaseline]))}
		m.Estimate[f], m.Off = rounded(row[SeesEstimate]), whole(row[SeesOff])
		m.Slot = int64(math.Round((1-float64(row[SeesLeft]))*float64(o.cfg.Slots))) % int64(o.cfg.Slots)
		for place, to := range map[int][]int32{SeesQueue: m.Queue, SeesLate: m.Late, SeesArrived: m.Arrived,
			SeesViolated: m.Violated, SeesBegun: m.Begun, SeesWait: m.Wait, SeesKeep: m.Keep, SeesTransient: m.Transient,
			SeesIdleKeep: m.IdleKeep, SeesIdle: m.Idle, SeesPatient: m.Patient, SeesIdleSince: m.IdleSince,
			SeesLoading: m.Loading, SeesWarm: m.Warm} {
			to[f] = whole(row[place])
		}
	}
	return m
}

// rounded is x with five digits, 0 where it is negative.
func rounded(x float32) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(max(0, float64(x)), 'g', 5, 64), 64) // what is written is read
	return y
}
