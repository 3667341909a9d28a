// Package crossentropy searches for the numbers of a policy by the cross-entropy method: draw many from a normal
// distribution, score them, fit the distribution to the best, and again (Rubinstein, "The cross-entropy method for
// combinatorial and continuous optimization", 1999). The spread gets a floor that shrinks, so that the search does not
// end too early (Szita and Lőrincz, "Learning Tetris using the noisy cross-entropy method", 2006).
//
// [Search] is the method, [Space] is what a policy says of its numbers. What scores are is up to the caller: package
// eval/fit plays episodes.
package crossentropy

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/rng"
)

// Config shapes a search.
type Config struct {
	// Population is the number of candidates in a generation.
	Population int `yaml:"population" json:"population" range:"[4,1e6]"`
	// Elite is the share of the candidates to which the distribution is fitted, the best ones.
	Elite float64 `yaml:"elite" json:"elite" range:"(0,0.5]"`
	// Step is the weight of the new fit; the rest is the distribution as it was.
	Step float64 `yaml:"step" json:"step" range:"(0,1]"`
	// Floor is the smallest spread in the first generation, as a share of the first spread. It falls linearly, to 0 after
	// Generations.
	Floor float64 `yaml:"floor" json:"floor" range:"[0,1]"`
	// Generations is the number of generations planned.
	Generations int `yaml:"generations" json:"generations" range:"[1,1e6]"`
	// Seed names the draws.
	Seed uint64 `yaml:"seed" json:"seed"`
}

// Default returns what suits some tens of numbers under noisy scores.
func Default() Config {
	return Config{Population: 96, Elite: 0.125, Step: 0.7, Floor: 0.3, Generations: 40, Seed: 1}
}

// Space is what a policy says of its numbers.
type Space struct {
	// Names are those of the numbers; Start and Spread are the mean and the standard deviation of the first draws.
	Names         []string
	Start, Spread []float64
	// Low and High bound every number.
	Low, High []float64
	// Config makes the policy's configuration of the numbers.
	Config func(x []float64) any
}

// Check refuses a space that cannot be searched.
func (s *Space) Check() error {
	n := len(s.Names)
	if n == 0 || len(s.Start) != n || len(s.Spread) != n || len(s.Low) != n || len(s.High) != n || s.Config == nil {
		return fmt.Errorf("crossentropy: a space has %d names, %d starts, %d spreads, %d and %d bounds, want as many of each "+
			"and a configuration", n, len(s.Start), len(s.Spread), len(s.Low), len(s.High))
	}
	for i, name := range s.Names {
		if !(s.Low[i] < s.High[i]) || !(s.Spread[i] > 0) || !(s.Start[i] >= s.Low[i] && s.Start[i] <= s.High[i]) {
			return fmt.Errorf("crossentropy: %s starts at %g ± %g in %g to %g, want a start within and a spread above 0", name,
				s.Start[i], s.Spread[i], s.Low[i], s.High[i])
		}
	}
	return nil
}

// Search is a search on its way. Propose and Observe alternate.
type Search struct {
	config     Config
	space      *Space
	mean       []float64
	spread     []float64
	population [][]float64
	order      []int
	generation int
}

// New begins a search.
func New(c Config, s *Space) (*Search, error) {
	if err := bounds.Check(&c); err != nil {
		return nil, err
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	out := &Search{config: c, space: s, mean: slices.Clone(s.Start), spread: slices.Clone(s.Spread),
		order: make([]int, c.Population)}
	for range c.Population {
		out.population = append(out.population, make([]float64, len(s.Names)))
	}
	return out, nil
}

// Generation is the number of generations observed so far.
func (s *Search) Generation() int { return s.generation }

// Mean is the middle of the distribution. It is the search's own, to be copied by who keeps it.
func (s *Search) Mean() []float64 { return s.mean }

// Width is the root mean square of the spreads over the first ones: 1 at first, near 0 when the search has settled.
func (s *Search) Width() float64 {
	var sum float64
	for i, x := range s.spread {
		r := x / s.space.Spread[i]
		sum += float64(r * r)
	}
	return math.Sqrt(sum / float64(len(s.spread)))
}

// Propose draws the candidates of the next generation. The first of them is the mean. They are valid until the next
// call.
func (s *Search) Propose() [][]float64 {
	k := rng.New(s.config.Seed, "cross-entropy candidates").With(uint64(s.generation))
	for c, x := range s.population {
		own := k.With(uint64(c))
		for i := range x {
			x[i] = s.mean[i]
			if c > 0 {
				x[i] += float64(s.spread[i] * own.With(uint64(i)).Norm())
			}
			x[i] = min(max(x[i], s.space.Low[i]), s.space.High[i])
		}
	}
	return s.population
}

// Observe takes the candidates' scores (higher is better) and fits the distribution to the best. The first of equal
// scores counts as better.
func (s *Search) Observe(scores []float64) error {
	if len(scores) != len(s.population) {
		return fmt.Errorf("crossentropy: %d scores of %d candidates", len(scores), len(s.population))
	}
	if slices.ContainsFunc(scores, math.IsNaN) {
		return errors.New("crossentropy: a score is not a number")
	}
	for i := range s.order {
		s.order[i] = i
	}
	slices.SortStableFunc(s.order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	best := s.order[:max(2, int(s.config.Elite*float64(len(s.order))))]
	s.generation++
	floor := s.config.Floor * max(0, 1-float64(s.generation)/float64(s.config.Generations))
	for i := range s.mean {
		var mean, square float64
		for _, c := range best {
			mean += s.population[c][i] / float64(len(best))
		}
		for _, c := range best {
			d := s.population[c][i] - mean
			square += float64(d*d) / float64(len(best))
		}
		s.mean[i] += float64(s.config.Step * (mean - s.mean[i]))
		s.spread[i] += float64(s.config.Step * (math.Sqrt(square) - s.spread[i]))
		s.spread[i] = max(s.spread[i], floor*s.space.Spread[i])
	}
	return nil
}

// Read returns the configuration of a baseline from a file that stoker search wrote. An error names the file, and what of the
// configuration is wrong.
func Read[C any](baseline, file string) (c C, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return c, fmt.Errorf("%s: file: %w", baseline, err)
	}
	return Parse[C](baseline, file, b)
}

// Parse is [Read] from a file's content; name is for errors.
func Parse[C any](baseline, name string, b []byte) (c C, err error) {
	var f struct {
		Baseline string `json:"baseline"`
		Rival    string `json:"rival"` // the key's name in files of before
		Config   C      `json:"config"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return c, fmt.Errorf("%s: file %s: %w, want one that stoker search %s wrote", baseline, name, err, baseline)
	}
	if f.Baseline = cmp.Or(f.Baseline, f.Rival); f.Baseline != baseline {
		return c, fmt.Errorf("%s: file %s is of baseline %q, want one that stoker search %s wrote", baseline, name, f.Baseline, baseline)
	}
	if v, ok := any(&f.Config).(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return c, fmt.Errorf("%s: file %s: config.%w", baseline, name, err)
		}
	}
	return f.Config, nil
}
