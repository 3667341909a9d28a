package workload

import (
	"math"

	"github.com/stoker-rl/stoker/rng"
)

// Users are the requests of users who each wait for an answer before they ask again. It holds no state: when a
// user's request k begins depends on when request k-1 was answered, which only the simulator knows.
type Users struct {
	config UsersConfig
	think  rng.Key
}

// Constant is a law of think time, as [UsersConfig.ThinkLaw] names it. [Uniform] and [Exponential] are the others.
const Constant = "constant"

// Count returns the number of users.
func (u Users) Count() int { return u.config.Count }

// Spawn returns when a user joins, in microseconds from the start. Users join as Locust's do (UsersDispatcher, in its
// dispatch.py since 2.0): the whole number of the spawn rate at a time, the first of them at once, with the time
// between that gives the rate. Ten users at 10 a second so begin together; below 2 a second they come one by one.
func (u Users) Spawn(user int) int64 {
	batch := max(1, math.Floor(u.config.SpawnRate))
	return int64(float64(math.Floor(float64(user)/batch)*batch) / u.config.SpawnRate * float64(Second))
}

// Think returns the microseconds between the answer to a user's request k-1 and that user's request k, a
// function of (seed, user, request) alone. Request 0 follows joining at once.
func (u Users) Think(user int, request uint64) int64 {
	mean := u.config.Think * float64(Second)
	if mean == 0 || request == 0 {
		return 0
	}
	k := u.think.With(uint64(user)).With(request)
	switch u.config.ThinkLaw {
	case Uniform:
		mean = float64(mean*k.Float64()) * 2
	case Exponential:
		mean *= k.Exp()
	}
	return int64(mean)
}
