package workload

import (
	"math"

	"github.com/stoker-rl/stoker/rng"
)

// Users are closed-loop users: each waits for a response and thinks before the next request. Users has no state:
// request k of a user begins some time after the response to request k-1, and only the simulator knows that time.
type Users struct {
	config UsersConfig
	think  rng.Key
}

// Constant is a distribution of think time, as [UsersConfig.ThinkLaw] names it. The others are [Uniform] and
// [Exponential].
const Constant = "constant"

// Count returns the number of users.
func (u Users) Count() int { return u.config.Count }

// Spawn returns when a user joins, in microseconds from the start. Users join as in Locust since 2.0 (UsersDispatcher
// in dispatch.py): in groups as large as the integer part of the spawn rate, the first at time 0, at intervals that
// give the rate. Ten users at a rate of 10 per second join together; at a rate below 2 per second users join one by
// one.
func (u Users) Spawn(user int) int64 {
	batch := max(1, math.Floor(u.config.SpawnRate))
	return int64(float64(math.Floor(float64(user)/batch)*batch) / u.config.SpawnRate * float64(Second))
}

// Think returns the microseconds between the response to a user's request k-1 and that user's request k. It is a
// function of (seed, user, request) alone. Request 0 begins when the user joins.
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
