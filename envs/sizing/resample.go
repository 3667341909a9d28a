package sizing

import "github.com/stoker-rl/stoker/rng"

// Resample draws the arrivals to come again, from another seed that follows from the episode's and from salt, under
// the same load. Requests in progress stay. A planner that knows the law of the arrivals, but not the arrivals, plans on
// copies with several salts. It is part of the state, as the salt of [Env.Salt] is. In a closed loop it does nothing:
// users send when a response has come.
func (e *Env) Resample(salt uint64) {
	if a := e.walk.Arrivals(); a != nil {
		a.Resample(rng.New(e.seed, "sizing/resample").With(salt).Uint64())
		e.walk.SeekTo(e.loadTime())
	}
}
