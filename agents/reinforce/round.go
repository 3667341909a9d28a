package reinforce

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// round is one under way: see [agents.Rounds].
type round struct {
	number uint64
	ticks  uint64 // steps of the vector so far
	over   bool   // all episodes are here
	before int64  // environment steps before it
}

// InRounds implements [agents.Rounds].
func (l *Learner) InRounds() bool { return l.c.Rounds }

// BeginRound implements [agents.Rounds]: draws are keyed by copy and round.
func (l *Learner) BeginRound(n uint64) {
	if l.round.ticks > 0 {
		l.steps = l.round.before
		l.store.forget()
	}
	l.round = round{number: n, before: l.steps}
	key := rng.New(l.ctx.Seed, "reinforce: exploration in rounds")
	for i := range l.draws {
		l.draws[i] = key.With(uint64(l.ctx.FirstEnv + i)).With(n).Stream()
	}
}

// when is the time that keys draws: steps so far, or round and step.
func (l *Learner) when() []uint64 {
	if l.c.Rounds {
		return []uint64{l.round.number, l.round.ticks}
	}
	return []uint64{uint64(l.steps)}
}

// count counts environment steps, in rounds without those of copies that wait.
func (l *Learner) count(v *envs.Vector) {
	if !l.c.Rounds {
		l.steps += int64(l.ctx.NumEnvs)
		return
	}
	for _, waited := range v.ResetStep {
		if !waited {
			l.steps++
		}
	}
	l.round.ticks++
	l.round.over = v.RoundOver()
}

// inOrder puts what was played in the order of the copies, whoever played it.
func (l *Learner) inOrder() {
	slices.SortStableFunc(l.store.done, func(a, b *trajectory) int { return cmp.Compare(a.row, b.row) })
}

// endRound reports whether the round is over, and readies it for the update.
func (l *Learner) endRound() bool {
	if !l.round.over {
		return false
	}
	l.round.ticks, l.round.over = 0, false
	l.inOrder()
	for _, t := range l.store.done {
		for _, x := range t.logp {
			l.sums.negLogProb -= float64(x)
			l.sums.actions++
		}
	}
	return true
}

// playedKind names what was played.
const playedKind = "reinforce round"

// played is what copies have played in a round.
type played struct {
	store *store
	steps int64
	list  []*trajectory
}

// State implements [state.Stater].
func (p *played) State(c *state.Codec) {
	state.Value(c, &p.steps)
	p.store.list(c, "played", &p.list, math.MaxInt32)
	if !c.Loaded() {
		return
	}
	c.Check(p.steps > 0, "%d steps, want at least 1", p.steps)
	for i, t := range p.list {
		c.Check(t.steps > 0 && t.ended(), "played trajectory %d has no steps or no end", i)
	}
}

// AppendPlayed implements [agents.Rounds].
func (l *Learner) AppendPlayed(b []byte) ([]byte, error) {
	if !l.round.over {
		return nil, errors.New("reinforce: the round is not over")
	}
	l.inOrder()
	return state.Append(b, playedKind, &played{l.store, l.steps - l.round.before, l.store.done})
}

// TakePlayed implements [agents.Rounds].
func (l *Learner) TakePlayed(b []byte) error {
	p := &played{store: l.store}
	if err := state.Load(b, playedKind, p); err != nil {
		return fmt.Errorf("reinforce: %w", err)
	}
	l.steps += p.steps
	l.round.ticks++
	l.store.done = append(l.store.done, p.list...)
	l.round.over = true
	return nil
}
