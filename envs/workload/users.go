package workload

import "github.com/stoker-rl/stoker/rng"

// Users are the requests of users who each wait for an answer before they ask again. It holds no state: when a
// user's request k begins depends on when request k-1 was answered, which only the simulator knows.
type Users struct {
	config UsersConfig
	think  rng.Key
}

// Count returns the number of users.
func (u Users) Count() int { return u.config.Count }

// Spawn returns when a user joins, in microseconds from the start: users join one by one at the spawn rate.
func (u Users) Spawn(user int) int64 { return 0 }

// Think returns the microseconds between the answer to a user's request k-1 and that user's request k, a
// function of (seed, user, request) alone. Request 0 follows joining at once.
func (u Users) Think(user int, request uint64) int64 { return 0 }
