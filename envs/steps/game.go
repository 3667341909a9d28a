package steps

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/stoker-rl/stoker/bounds"
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
	given Given
	entry *entry
	walk  *walk // of the request that is decided
	stream
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
	if c.Prewarm != NoPrewarm && with.Prewarm == nil {
		return nil, bounds.Errorf("prewarm", "is %s, and there is no decider that predicts configurations", c.Prewarm)
	}
	g := &Game{id: id, shelf: s, print: s.fingerprint(), given: with}
	if g.stream, err = openStream(&s.config, with.Load); err != nil {
		return nil, err
	}
	if g.source != nil {
		h := fnv.New64a()
		load := g.source.Config()
		fmt.Fprintf(h, "%x %s", g.print, load.Identity())
		g.print = h.Sum64()
	}
	return g, nil
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
// returned) whatever the action says. Baselines need it that choose what an action cannot say.
func (g *Game) Take(option int) { g.forced = int32(option) + 1 }

// Draw returns what a step would take in seconds and cost in USD with an option if it began now. Deciders that may not
// know the future must not ask.
func (g *Game) Draw(s, option int) (seconds, usd float64) {
	w := g.walk
	o := w.m.configuration(s, option)
	alone, now := w.runner, w.origin+w.at.Now
	alone.pool, alone.places = nil, nil
	alone.room = &room{}
	*alone.room = *w.runner.room
	alone.room.running, alone.room.held = slices.Clone(w.runner.room.running), nil
	r := alone.run(w.key, &w.truth.Steps[s], s, o, now, w.found(s, o.mb))
	return r.seconds, r.usd
}

// begin starts an episode.
func (g *Game) begin(from episode) error {
	n, err := g.shelf.entry(from.seed)
	if err != nil {
		return err
	}
	g.entry, g.episode, g.taken, g.walk = n, from, g.taken[:0], nil
	if err := g.beginStream(rng.New(from.seed, "steps/request")); err != nil {
		return err
	}
	if !g.running {
		return fmt.Errorf("workflow %s has no step with tasks, so that nothing is to decide", n.known.App.Name)
	}
	return nil
}

func (g *Game) reset(seed uint64, options envs.Options) error {
	for option := range options {
		return fmt.Errorf("%s: option %s is unknown, want none", g.id, option)
	}
	if err := g.begin(episode{seed: seed, begun: true, running: true}); err != nil {
		return fmt.Errorf("%s: %w", g.id, err)
	}
	return nil
}

// decide takes an option for the step to decide and fills the outcome.
func (g *Game) decide(option int, out *envs.Outcome) error {
	if g.forced > 0 {
		option, g.forced = int(g.forced-1), 0
	}
	w, unit, clock := g.walk, unitOf(g.entry.known), g.clock
	if err := w.m.check(w.step(), option); err != nil {
		return fmt.Errorf("%s: %w", g.id, err)
	}
	usd, miss, err := g.take(option)
	if err != nil {
		return fmt.Errorf("%s: %w", g.id, err)
	}
	reward := -usd/unit - miss/unit
	clear(out.Info)
	if !g.running {
		g.judge(out.Info)
	}
	out.Rewards[0][0] = float32(reward)
	out.Terminated, out.Truncated, out.Elapsed = !g.running, false, int64(float64((g.clock-clock)*1e6)+0.5)
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
	atMappingCost
	atColdCost
	atPrewarmCost
	atPrewarmed
	infos
)

// quantities lists what a step reports. All are of the request, or means over the requests of a stream, and are known
// when the last one ends.
func quantities() []envs.Quantity {
	q := func(name, unit string, b envs.Better, in envs.Bounds, doc string) envs.Quantity {
		return envs.Quantity{Name: name, Unit: unit, Better: b, Reduce: envs.Last, Bounds: in, Doc: doc}
	}
	return []envs.Quantity{
		q("missed", "1", envs.Lower, envs.Share(), "1 where the request ends later than its SLO, else 0; of a stream the share"),
		q("excess", "1", envs.Lower, envs.AtLeast(-1), "its price above that of the cheapest configuration that keeps the SLO at "+
			"P90 (the oracle), as a share of that"),
		q("cost", "USD", envs.Lower, envs.AtLeast(0), "its price"),
		q("latency", "1", envs.Neither, envs.AtLeast(0), "its time over the SLO"),
		q("time", "s", envs.Neither, envs.AtLeast(0), "its time"),
		q("mapping", "1", envs.Neither, envs.Share(), "share of its steps' times until their last instances have started"),
		q("cold", "1", envs.Neither, envs.AtLeast(0), "its cold starts"),
		q("mapping_cost", "USD", envs.Neither, envs.AtLeast(0), "what its mapping delays cost where they are billed"),
		q("cold_cost", "USD", envs.Neither, envs.AtLeast(0), "the part of that which is there because of cold starts"),
		q("prewarm_cost", "USD", envs.Neither, envs.AtLeast(0), "what its dummy calls and idle prewarmed instances cost"),
		q("prewarmed", "1", envs.Neither, envs.AtLeast(0), "instances that were prewarmed for it"),
	}
}

// take runs the step to decide with an option and goes on to the next decision. It returns the price of the step, and that
// of a miss where the request ends late: the next request of a stream may take the walk over.
func (g *Game) take(option int) (usd, miss float64, err error) {
	w := g.walk
	spent := w.at.Spent
	w.take(option, w.m.configuration(w.step(), option))
	g.taken = append(g.taken, int32(option))
	usd = w.at.Spent - spent
	if w.over() {
		if w.late() {
			miss = w.at.Miss
		}
		if err := g.finish(w); err != nil {
			return usd, miss, err
		}
	}
	return usd, miss, g.advance()
}

// judge reports what the requests came to.
func (g *Game) judge(info []float64) {
	s := &g.sums
	n := s.requests
	info[atMissed] = s.missed / n
	info[atExcess] = max(s.usd/s.oracle-1, -1)
	info[atCost], info[atLatency], info[atTime] = s.usd/n, s.over/n, s.seconds/n
	info[atMapping] = min(s.mapping/max(s.busy, 1e-12), 1)
	info[atCold] = s.cold / n
	info[atMappingCost], info[atColdCost], info[atPrewarmCost] = s.mappingUSD/n, s.coldUSD/n, s.prewarmingUSD/n
	info[atPrewarmed] = s.warmed / n
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
	for k, option := range taken {
		w := g.walk
		s := w.step()
		if !g.running || s < 0 {
			return fmt.Errorf("there are %d decisions, and the episode ends after %d", len(taken), k)
		}
		if err := w.m.check(s, int(option)); err != nil {
			return fmt.Errorf("decision %d: %w", k, err)
		}
		if _, _, err := g.take(int(option)); err != nil {
			return err
		}
	}
	if from.running != g.running {
		return fmt.Errorf("%d decisions are made, and the episode's end is not that", len(taken))
	}
	return nil
}
