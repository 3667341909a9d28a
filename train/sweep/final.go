package sweep

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/train"
)

// FinalFolder is the folder, in a study's, of the best trials trained anew.
const FinalFolder = "final"

// BaseArm is the name of the configuration itself among them, without a trial's settings.
const BaseArm = "base"

// ParseFinal reads NxK: how many of the best trials are trained anew, and with how many training seeds.
func ParseFinal(text string) (trials, seeds int, err error) {
	n, k, ok := strings.Cut(text, "x")
	trials, err1 := strconv.Atoi(n)
	seeds, err2 := strconv.Atoi(k)
	if !ok || err1 != nil || err2 != nil || trials < 1 || seeds < 2 || trials > 100 || seeds > 1000 {
		return 0, 0, train.Usage("--final is %q, want TRIALSxSEEDS with two seeds or more, as in --final 3x5", text)
	}
	return trials, seeds, nil
}

// Ranked are the trials with a score, the best first: those of the last rung, then those of the one before, each by score.
func (s *Sweep) Ranked() (out []*Arm) {
	loss := map[string]float64{}
	for i := range s.Arms {
		a := &s.Arms[i]
		if r, ok := s.reached(a); ok {
			if loss[a.Name] = s.loss(a, r); finite(loss[a.Name]) != nil {
				out = append(out, a)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *Arm) int {
		x, y := a.Runs[0].Scores, b.Runs[0].Scores
		p, _ := s.reached(a)
		q, _ := s.reached(b)
		return cmp.Or(cmp.Compare(y[len(y)-1].Steps, x[len(x)-1].Steps), cmp.Compare(q.number, p.number),
			cmp.Compare(loss[a.Name], loss[b.Name]))
	})
	return out
}

// Value is a trial's score at its last rung, the mean over its training seeds; NaN where it has none.
func (s *Sweep) Value(a *Arm) float64 {
	r, ok := s.reached(a)
	if !ok {
		return math.NaN()
	}
	return s.mean(a, r, 0)
}

// reached is the last rung at which all runs of a trial have a score.
func (s *Sweep) reached(a *Arm) (last rung, ok bool) {
	for _, r := range s.Plan.rungs(a.Steps) {
		if len(missing([]*Arm{a}, r)) == 0 {
			last, ok = r, true
		}
	}
	return last, ok
}

// Final is the sweep that trains the best trials of a study anew, beside the configuration itself, with training seeds
// that the study has not used. It lies in the study's folder. A final of other trials that is there is refused.
func (s *Sweep) Final() (*Sweep, error) {
	n, k, err := ParseFinal(s.Plan.Study.Final)
	if err != nil {
		return nil, err
	}
	best := s.Ranked()
	if len(best) == 0 {
		return nil, fmt.Errorf("%s: no trial has a score: there is none to train anew", s.Dir)
	}
	f := &Sweep{Dir: filepath.Join(s.Dir, FinalFolder), Plan: s.Plan, names: s.names}
	f.Plan.Grid, f.Plan.Random, f.Plan.Trials, f.Plan.Seed, f.Plan.Study, f.Plan.Seeds = nil, nil, 0, 0, nil, nil
	for i := range uint64(k) {
		f.Plan.Seeds = append(f.Plan.Seeds, slices.Max(s.Plan.Seeds)+1+i)
	}
	x, err := s.Base()
	if err != nil {
		return nil, err
	}
	f.Arms = []Arm{{Name: BaseArm, Steps: x.Train.Steps}}
	for _, a := range best[:min(n, len(best))] {
		f.Arms = append(f.Arms, Arm{Name: a.Name, Settings: a.Settings, Steps: a.Steps})
	}
	for i := range f.Arms {
		a := &f.Arms[i]
		for _, seed := range f.Plan.Seeds {
			a.Runs = append(a.Runs, Run{Seed: seed, Folder: fmt.Sprintf("%s-s%d", a.Name, seed), Status: Waiting})
		}
	}
	if !Is(f.Dir) {
		return f, nil
	}
	old, err := Open(f.Dir, s.names)
	if err != nil {
		return nil, err
	}
	if was, is := old.folders(), f.folders(); was != is {
		return nil, train.Usage("%s holds %s, --final %s asks for %s: remove that folder, or give the --final that made it", f.Dir, was,
			s.Plan.Study.Final, is)
	}
	return old, nil
}

// folders names the runs of a sweep.
func (s *Sweep) folders() string {
	var out []string
	for _, a := range s.Arms {
		for _, r := range a.Runs {
			out = append(out, r.Folder)
		}
	}
	return strings.Join(out, ", ")
}
