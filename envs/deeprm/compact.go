package deeprm

import "github.com/stoker-rl/stoker/envs/state"

// numbers is the compact observation, kept up to date.
type numbers struct {
	Layout
	values []float32
	late   bool // LateRemoval: jobs may stay after their end
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
	copy(all, all[1:]) // all rows in one copy; the last number of each is wrong until the loop below
	for last := 2*n.Horizon - 1; last < len(all); last += n.Horizon {
		all[last] = float32(n.Slots)
	}
	jobs := all[:n.Horizon]
	jobs[n.Horizon-1] = 0
	if !n.late {
		return
	}
	// The published code removes a job from its end on with a slice expression that begins there. For a job that should
	// have left before now the index is negative, so it counts from the end of the horizon.
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
