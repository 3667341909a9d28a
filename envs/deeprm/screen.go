package deeprm

import "github.com/stoker-rl/stoker/envs/state"

// screen is an observation that is updated as the cluster changes, so that writing it is one copy.
type screen interface {
	// seen is the observation.
	seen() []float32
	// clear empties the observation; shuffle then draws the order of grey levels for an episode.
	clear()
	shuffle(seed uint64, s *source)
	// place shows the job in a visible place, or none.
	place(place int, j *job)
	// backlog shows how many jobs wait in the backlog.
	backlog(n int)
	// placed shows a job that starts `start` time steps from now. It is called before the job is added to e.active.
	placed(e *Env, j *job, start int)
	// arrived notes an arrival, even of a job that is dropped.
	arrived()
	state.Stater
	// moved shows that a time step has passed. It is called after the cluster and the active jobs were updated.
	moved(e *Env)
}

func newScreen(c *Config) screen {
	l := NewLayout(c)
	if l.Image {
		return newPicture(c, l)
	}
	return &numbers{Layout: l, values: make([]float32, l.Width()), late: c.Defects.LateRemoval}
}
