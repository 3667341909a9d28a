package sim

// level is a quantity that a function holds for some time; its integral over time is an area.
type level uint8

const (
	lvWaiting   level = iota // requests queued or bound to a starting instance
	lvRunning                // requests
	lvPlaced                 // instances starting, idle, busy or draining
	lvStarting               // instances
	lvReady                  // instances idle, busy or draining
	lvBusy                   // instances running something
	lvCPU                    // millicores of placed instances
	lvMemory                 // MB of placed instances
	lvGPU                    // slices of placed instances
	lvBusyCPU                // millicores of busy instances
	lvBusyMem                // MB of busy instances
	lvBusyGPU                // slices of busy instances
	lvUsedCPU                // millicores in use
	lvThrottled              // millicores wanted beyond the allocation
	levels
)

// gauge holds a function's levels and their areas (level · µs), brought up to date at every change.
type gauge struct {
	since Time
	now   [levels]int64
	area  [levels]wide
}

// touch brings the areas up to the moment now. Call it before changing a level.
func (g *gauge) touch(now Time) {
	dt := uint64(now - g.since)
	if dt == 0 {
		return
	}
	g.since = now
	for i := range g.now {
		g.area[i].addMul(uint64(g.now[i]), dt)
	}
}

// moments sums times exactly.
type moments struct {
	sum, square wide
	max         Time
}

func (m *moments) add(t Time) {
	m.sum.add(uint64(t))
	m.square.addMul(uint64(t), uint64(t))
	m.max = max(m.max, t)
}

func (m *moments) merge(o *moments) {
	m.sum.addWide(o.sum)
	m.square.addWide(o.square)
	m.max = max(m.max, o.max)
}
