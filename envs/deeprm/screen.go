package deeprm

import "github.com/stoker-rl/stoker/envs/state"

// screen keeps what is seen up to date while the cluster changes, so that an observation is one copy.
type screen interface {
	// seen is the observation.
	seen() []float32
	// clear empties the screen; shuffle then draws what an episode has of its own.
	clear()
	shuffle(seed uint64, s *source)
	// place shows the job in a visible place, or none.
	place(place int, j *job)
	// backlog shows how many jobs wait behind.
	backlog(n int)
	// placed shows a job that starts so many time steps from now; it is not among e.active yet.
	placed(e *Env, j *job, start int)
	// arrived notes an arrival, seen or not.
	arrived()
	state.Stater
	// moved shows that a time step has passed, after cluster and active jobs have moved on.
	moved(e *Env)
}

func newScreen(c *Config) screen {
	l := NewLayout(c)
	if l.Image {
		return newPicture(c, l)
	}
	return &numbers{Layout: l, values: make([]float32, l.Width()), late: c.Defects.LateRemoval}
}
