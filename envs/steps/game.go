package steps

import (
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// Game is the world that the environments of this package share: a request walks a workflow, and each step gets a
// configuration when it is ready. Deciders that plan are shown it.
type Game struct {
	id    string
	shelf *shelf
	print uint64
	entry *entry
	walk  walk
	taken []int32 // the options that were chosen, in order
	spare []int32
	episode
}

// episode is what is saved of an episode; the rest follows from it and from the options taken.
type episode struct {
	seed           uint64
	begun, running bool
	forced         int32 // what Take was told and has not happened yet, plus one
}

func newGame(id string, c EnvConfig, with Given) (*Game, error) {
	s, err := newShelf(c, with.Own)
	if err != nil {
		return nil, err
	}
	return &Game{id: id, shelf: s, print: s.fingerprint()}, nil
}

// Model returns the workflow of the episode as deciders know it.
func (g *Game) Model() *Model { return g.entry.known }

// Moment returns what is known of the request now: it holds until the next step.
func (g *Game) Moment() *Moment { return &g.walk.at }

// NextStep returns the step to decide, -1 where there is none.
func (g *Game) NextStep() int { return g.walk.step() }

// Running reports whether an episode is under way.
func (g *Game) Running() bool { return g.running }

// Take makes the environment's next step use an option (an index into the model's options, or what [Model.Pack]
// returned) whatever the action says. Rivals need it that choose what an action cannot say.
func (g *Game) Take(option int) { g.forced = int32(option) + 1 }

// Draw returns what a step would take in seconds and cost in USD with an option if it began now. Deciders that may not know
// the future must not ask.
func (g *Game) Draw(s, option int) (seconds, usd float64) {
	w := &g.walk
	o := w.m.configuration(s, option)
	room := w.runner.room
	room.running = append(heap[holding](nil), room.running...)
	r := w.runner.run(w.key, &w.truth.Steps[s], s, o, w.at.Now, w.found(s, o.mb))
	w.runner.room = room
	return r.seconds, r.usd
}

// begin starts an episode.
func (g *Game) begin(from episode) error {
	n, err := g.shelf.entry(from.seed)
	if err != nil {
		return err
	}
	key := rng.New(from.seed, "steps/request")
	slo := float64(drawn(g.shelf.config.SLO, key.With(0)) * n.known.Fastest)
	if n.known.App.SLO > 0 {
		slo = n.known.App.SLO
	}
	miss := float64(drawn(g.shelf.config.Miss, key.With(1)) * unitOf(n.known))
	g.entry, g.episode, g.taken = n, from, g.taken[:0]
	g.walk.begin(n.known, n.truth, key.With(2), slo, miss)
	return nil
}

func (g *Game) reset(seed uint64, options envs.Options) error {
	for option := range options {
		return fmt.Errorf("%s: option %s is unknown, want none", g.id, option)
	}
	if err := g.begin(episode{seed: seed, begun: true, running: true}); err != nil {
		return fmt.Errorf("%s: %w", g.id, err)
	}
	if g.walk.over() {
		return fmt.Errorf("%s: workflow %s has no step with tasks, so that nothing is to decide", g.id, g.Model().App.Name)
	}
	return nil
}

// decide takes an option for the step to decide and fills the outcome.
func (g *Game) decide(option int, out *envs.Outcome) error {
	if g.forced > 0 {
		option, g.forced = int(g.forced-1), 0
	}
	w, unit := &g.walk, unitOf(g.entry.known)
	if err := w.m.check(w.step(), option); err != nil {
		return fmt.Errorf("%s: %w", g.id, err)
	}
	r, elapsed := w.take(option, w.m.configuration(w.step(), option))
	g.taken = append(g.taken, int32(option))
	g.running = !w.over()
	reward := -r.usd / unit
	clear(out.Info)
	if !g.running {
		if w.at.Now > w.at.SLO {
			reward -= w.at.Miss / unit
		}
		if err := g.judge(out.Info); err != nil {
			return fmt.Errorf("%s: %w", g.id, err)
		}
	}
	out.Rewards[0][0] = float32(reward)
	out.Terminated, out.Truncated, out.Elapsed = !g.running, false, int64(float64(elapsed*1e6)+0.5)
	return nil
}

// Info of a step, in this order.
const (
	atMissed = iota
	atExcess
	atCost
	atLatency
	atTime
	atMapping
	atCold
	infos
)

// quantities lists what a step reports. All are of the request, known when it ends.
func quantities() []envs.Quantity {
	q := func(name, unit string, b envs.Better, in envs.Bounds, doc string) envs.Quantity {
		return envs.Quantity{Name: name, Unit: unit, Better: b, Reduce: envs.Last, Bounds: in, Doc: doc}
	}
	return []envs.Quantity{
		q("missed", "1", envs.Lower, envs.Share(), "1 where the request ends later than its SLO, else 0"),
		q("excess", "1", envs.Lower, envs.AtLeast(-1), "its price above that of the cheapest configuration that keeps the SLO at "+
			"P90 (the oracle), as a share of that"),
		q("cost", "USD", envs.Lower, envs.AtLeast(0), "its price"),
		q("latency", "1", envs.Neither, envs.AtLeast(0), "its time over the SLO"),
		q("time", "s", envs.Neither, envs.AtLeast(0), "its time"),
		q("mapping", "1", envs.Neither, envs.Share(), "share of its steps' times until their last instances have started"),
		q("cold", "1", envs.Neither, envs.AtLeast(0), "its cold starts"),
	}
}

// judge reports what the request came to.
func (g *Game) judge(info []float64) error {
	at, t := &g.walk.at, &g.walk.total
	oracle, err := g.shelf.oracle(g.entry, at.SLO)
	if err != nil {
		return err
	}
	if at.Now > at.SLO {
		info[atMissed] = 1
	}
	info[atExcess] = max(at.Spent/max(oracle, 1e-12)-1, -1)
	info[atCost], info[atLatency], info[atTime] = at.Spent, at.Now/at.SLO, at.Now
	info[atMapping] = min(t.mapping/max(t.busy, 1e-12), 1)
	info[atCold] = float64(t.cold)
	return nil
}

// State lists the state: the episode and the options taken. What follows from them is made anew.
func (g *Game) State(c *state.Codec) {
	c.Same("configuration", g.print)
	state.Value(c, &g.episode)
	state.Slice(c, &g.taken)
	if c.Filled() {
		g.spare = append(g.spare[:0], g.taken...)
		c.Fail(g.restore(g.episode, g.spare))
	}
}

// restore plays an episode up to where it was saved.
func (g *Game) restore(from episode, taken []int32) error {
	if !from.begun {
		g.episode, g.taken = from, g.taken[:0]
		if from.running || len(taken) > 0 {
			return errors.New("an episode is under way that has not begun")
		}
		return nil
	}
	if err := g.begin(from); err != nil {
		return err
	}
	w := &g.walk
	for k, option := range taken {
		s := w.step()
		if s < 0 {
			return fmt.Errorf("there are %d decisions, and the request ends after %d", len(taken), k)
		}
		if err := w.m.check(s, int(option)); err != nil {
			return fmt.Errorf("decision %d: %w", k, err)
		}
		w.take(int(option), w.m.configuration(s, int(option)))
		g.taken = append(g.taken, option)
	}
	if from.running == w.over() {
		return fmt.Errorf("%d decisions are made, and the episode's end is not that", len(taken))
	}
	return nil
}
