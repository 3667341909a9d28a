package deeprm

import "github.com/stoker-rl/stoker/envs/state"

// numbers is the compact observation.
type numbers struct {
	Layout
	values []float32
	late   bool // jobs may stay after their end
}

func (n *numbers) seen() []float32 { return n.values }

func (n *numbers) clear() {
	clear(n.values)
	fill(n.values[n.Horizon:(n.Resources+1)*n.Horizon], float32(n.Slots))
}

func (n *numbers) shuffle(uint64, *source) {}

func (n *numbers) place(place int, j *job) {
	row := n.values[n.row(place):n.row(place+1)]
	if j == nil {
		clear(row)
		return
	}
	row[0] = float32(j.length)
	for r := range n.Resources {
		row[1+r] = float32(lane(j.demand, r))
	}
}

func (n *numbers) backlog(waiting int) { n.values[len(n.values)-1] = float32(waiting) }

func (n *numbers) placed(_ *Env, j *job, start int) {
	for t := range start + int(j.length) {
		n.values[t]++
	}
	for r := range n.Resources {
		free := n.values[(1+r)*n.Horizon:]
		d := float32(lane(j.demand, r))
		for t := start; t < start+int(j.length); t++ {
			free[t] -= d
		}
	}
}

func (n *numbers) arrived() {}

func (n *numbers) moved(e *Env) {
	all := n.values[:(n.Resources+1)*n.Horizon]
	copy(all, all[1:]) // every row at once; each one's last number is the next one's first
	for last := 2*n.Horizon - 1; last < len(all); last += n.Horizon {
		all[last] = float32(n.Slots)
	}
	jobs := all[:n.Horizon]
	jobs[n.Horizon-1] = 0
	if !n.late {
		return
	}
	// The published code takes a job off from its end on by a slice that begins there; for a job that should have left before now
	// it begins that much before the horizon's end.
	clear(jobs)
	for _, i := range e.active {
		end := int(e.jobs[i].finish - e.now)
		if end < 0 {
			end = max(0, end+n.Horizon)
		}
		for t := range min(end, n.Horizon) {
			jobs[t]++
		}
	}
}

// State implements [state.Stater].
func (n *numbers) State(c *state.Codec) { state.Fixed(c, n.values) }
