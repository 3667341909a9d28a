package sweep

import (
	"cmp"
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/train"
)

// rung is a number of steps and of training seeds.
type rung struct {
	number int // from 1
	steps  int64
	seeds  int
}

// Rungs is the number of rungs of a trial that trains for some steps.
func (p *Plan) Rungs(steps int64) int { return len(p.rungs(steps)) }

// rungs are those of a study, the last being whole runs with all seeds.
func (p *Plan) rungs(steps int64) []rung {
	s := p.Study
	out := []rung{{1, steps, len(p.Seeds)}}
	if s.Halving == "" {
		return out
	}
	least, _ := strconv.ParseInt(s.Halving, 10, 64) // check has read it; of seeds it is 0
	for f := int64(s.Factor); ; f *= int64(s.Factor) {
		r := rung{0, steps / f, len(p.Seeds)}
		if s.Halving == Seeds {
			r = rung{0, steps, len(p.Seeds) / int(f)}
		}
		if r.seeds < 1 || r.steps < max(least, 1) {
			return out
		}
		out = slices.Insert(out, 0, r)
		for i := range out {
			out[i].number = i + 1
		}
	}
}

// shape is how many trials a batch has, 0 for all there are, and the rung at which it begins.
func (p *Plan) shape(batch int, rungs int) (trials, first int) {
	s := p.Study
	if !s.Hyperband {
		return 0, 0
	}
	first = batch % rungs
	left := rungs - first // rungs that it meets
	trials = rungs
	for range left - 1 {
		trials *= s.Factor
	}
	return (trials + left - 1) / left, first
}

// batch puts the arms of a study that are in no batch into batches.
func (s *Sweep) batch() {
	if s.Plan.Study == nil || len(s.Arms) == 0 {
		return
	}
	rungs := len(s.Plan.rungs(s.Arms[0].Steps))
	for at := 0; at < len(s.Arms); {
		n, _ := s.Plan.shape(len(s.Batches), rungs)
		end := len(s.Arms)
		if n > 0 {
			end = min(at+n, end)
		}
		var names []string
		for _, a := range s.Arms[at:end] {
			names = append(names, a.Name)
		}
		s.Batches, at = append(s.Batches, names), end
	}
}

// target is a run that is to train until some steps.
type target struct {
	arm   *Arm
	run   *Run
	until int64
	rung  int
}

// targets are the runs to train next, none where every batch is decided. Decisions follow from the scores alone: whoever
// was killed, the next process decides the same. What is stopped for good is marked as pruned.
func (s *Sweep) targets() (out []target) {
	if s.Plan.Study == nil {
		for i := range s.Arms {
			a := &s.Arms[i]
			for k := range a.Runs {
				if a.Runs[k].Status != Finished {
					out = append(out, target{a, &a.Runs[k], a.Steps, 0})
				}
			}
		}
		return out
	}
	if s.asynchronous() {
		return s.due()
	}
	at, taken := map[string]*Arm{}, map[string]bool{}
	for i := range s.Arms {
		at[s.Arms[i].Name] = &s.Arms[i]
	}
	for b, names := range s.Batches {
		var alive []*Arm
		for _, n := range names {
			if a := at[n]; a != nil && !taken[n] { // a trial that was proposed twice is trained once
				alive, taken[n] = append(alive, a), true
			}
		}
		if len(alive) == 0 {
			continue
		}
		rungs := s.Plan.rungs(alive[0].Steps)
		_, first := s.Plan.shape(b, len(rungs))
		for k, r := range rungs[first:] {
			due := missing(alive, r)
			out = append(out, due...)
			if len(due) > 0 || first+k == len(rungs)-1 {
				break
			}
			alive = s.promote(alive, r)
		}
	}
	return out
}

// missing are the runs that have no score at a rung.
func missing(alive []*Arm, r rung) (out []target) {
	for _, a := range alive {
		for k := range a.Runs[:r.seeds] {
			if !slices.ContainsFunc(a.Runs[k].Scores, func(s Score) bool { return s.Steps == r.steps }) {
				out = append(out, target{a, &a.Runs[k], r.steps, r.number})
			}
		}
	}
	return out
}

// promote returns the trials that go on from a rung, one in Factor and at least one, and marks the others as pruned. Of
// equal scores the trial that was proposed first goes on; one without a score never does.
func (s *Sweep) promote(alive []*Arm, r rung) []*Arm {
	n := min(len(alive), max(1, len(alive)/s.Plan.Study.Factor))
	order := slices.Clone(alive)
	slices.SortStableFunc(order, func(a, b *Arm) int {
		return cmp.Compare(s.loss(a, r), s.loss(b, r))
	})
	for i, a := range order {
		if i < n && !math.IsInf(s.loss(a, r), 1) {
			continue
		}
		n = min(n, i)
		a.prune()
	}
	return order[:n]
}

// prune marks the trial's runs that do not go on.
func (a *Arm) prune() {
	for k := range a.Runs {
		if st := &a.Runs[k].Status; *st == Paused || *st == Waiting {
			*st = Pruned
		}
	}
}

// Decision is that a trial trains to a rung, counted from 1.
//
// Asynchronous successive halving (Li et al., A System for Massively Parallel Hyperparameter Tuning, 2020) decides whenever
// fewer runs than Options.Jobs are under way: the best trial at the highest rung that is among one in Factor of those scored
// there goes on to the next, or else a new trial begins. What is decided depends on the order in which scores arrive; what
// follows from the decisions does not.
type Decision struct {
	Trial string `json:"trial"`
	Rung  int    `json:"rung"`
}

// checkAsynchronous reports what is wrong with an asynchronous study.
func (s *Study) checkAsynchronous() error {
	switch {
	case !s.Asynchronous:
		return nil
	case s.Halving == "":
		return train.Usage("--asha needs --halving, the steps of the first rung")
	case s.Hyperband:
		return train.Usage("--asha and --hyperband are both given, want one of them")
	case s.Outside():
		return train.Usage("--asha can't wait for a batch of --propose %s: want %s, or draws", s.Propose, Halton)
	}
	return nil
}

func (s *Sweep) asynchronous() bool { return s.Plan.Study != nil && s.Plan.Study.Asynchronous }

// due are the runs that decisions ask for and that have no score, of each trial those of its first rung without.
func (s *Sweep) due() (out []target) {
	waits := map[string]bool{}
	for _, d := range s.Decisions {
		a := s.arm(d.Trial)
		if waits[d.Trial] {
			continue
		}
		list := missing([]*Arm{a}, s.Plan.rungs(a.Steps)[d.Rung-1])
		waits[d.Trial] = len(list) > 0
		out = append(out, list...)
	}
	if s.Decided && len(out) == 0 {
		for i := range s.Arms {
			s.Arms[i].prune()
		}
	}
	return out
}

// arm is the one of a name; sound has seen to it that there is one.
func (s *Sweep) arm(name string) *Arm {
	return &s.Arms[slices.IndexFunc(s.Arms, func(a Arm) bool { return a.Name == name })]
}

// decide decides until so many runs are due, or nothing is left to decide before another score.
func (s *Sweep) decide(jobs int) []target {
	for !s.Decided {
		due := s.due()
		if len(due) >= max(jobs, 1) {
			return due
		}
		d, ok := s.nextDecision()
		if !ok {
			if len(due) > 0 {
				return due
			}
			s.Decided = true
			break
		}
		s.Decisions = append(s.Decisions, d)
	}
	return s.due()
}

// nextDecision is what is decided with the scores that are there.
func (s *Sweep) nextDecision() (Decision, bool) {
	decided := map[Decision]bool{}
	for _, d := range s.Decisions {
		decided[d] = true
	}
	if len(s.Arms) == 0 {
		return Decision{}, false
	}
	rungs := s.Plan.rungs(s.Arms[0].Steps)
	for k := len(rungs) - 2; k >= 0; k-- {
		r := rungs[k]
		var scored []*Arm
		for i := range s.Arms {
			if a := &s.Arms[i]; decided[Decision{a.Name, r.number}] && len(missing([]*Arm{a}, r)) == 0 {
				scored = append(scored, a)
			}
		}
		n := len(scored) / s.Plan.Study.Factor
		slices.SortStableFunc(scored, func(a, b *Arm) int { return cmp.Compare(s.loss(a, r), s.loss(b, r)) })
		for _, a := range scored[:n] {
			if d := (Decision{a.Name, r.number + 1}); !decided[d] && !math.IsInf(s.loss(a, r), 1) {
				return d, true
			}
		}
	}
	for _, a := range s.Arms {
		if d := (Decision{a.Name, rungs[0].number}); !decided[d] {
			return d, true
		}
	}
	return Decision{}, false
}

// soundDecisions reports whether decisions are of trials and rungs that there are, each trial's in order.
func (s *Sweep) soundDecisions() bool {
	at := map[string]int{}
	for _, a := range s.Arms {
		at[a.Name] = 1
	}
	for _, d := range s.Decisions {
		if at[d.Trial] == 0 || d.Rung != at[d.Trial] || d.Rung > s.Plan.Rungs(s.arm(d.Trial).Steps) {
			return false
		}
		at[d.Trial]++
	}
	return s.asynchronous() || len(s.Decisions) == 0 && !s.Decided
}

// Replay is a new sweep in a folder that trains what an asynchronous study decided, whatever the order in which scores arrive;
// or the one that is there, where it is that. It is to end with the study's bytes.
func Replay(dir string, of *Sweep, names *catalog.Catalog) (*Sweep, error) {
	if !of.asynchronous() {
		return nil, train.Usage("--replay %s: it is no study of --asha; the command that made any other gives the same bytes again", of.Dir)
	}
	if !of.Decided {
		return nil, train.Usage("--replay %s: the study has not decided all: go on with it by: stoker resume %s", of.Dir, of.Dir)
	}
	s := &Sweep{Dir: filepath.Clean(dir), Plan: of.Plan, Batches: of.Batches, Decisions: of.Decisions, Decided: true, names: names}
	for _, a := range of.Arms {
		a.Runs = slices.Clone(a.Runs)
		for i, r := range a.Runs {
			a.Runs[i] = Run{Seed: r.Seed, Folder: r.Folder, Status: Waiting}
		}
		s.Arms = append(s.Arms, a)
	}
	if !Is(dir) {
		return s, free(dir)
	}
	old, err := Open(dir, names)
	if err != nil {
		return nil, err
	}
	was, err1 := json.Marshal(old.Plan)
	is, err2 := json.Marshal(s.Plan)
	if err1 != nil || err2 != nil || string(was) != string(is) || !slices.Equal(old.Decisions, s.Decisions) {
		return nil, train.Usage("%s holds another sweep: give another --name", dir)
	}
	return old, nil
}
