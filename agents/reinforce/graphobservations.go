package reinforce

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/graphs"
	"github.com/stoker-rl/stoker/envs/state"
)

// graphObservations are graphs as rows of numbers, of unequal length.
type graphObservations struct {
	reader *graphs.Rows
	x      []float32
	ends   []int // of rows, in x
}

func (s *graphObservations) rows() int { return len(s.ends) }

func (s *graphObservations) clear() { s.x, s.ends = s.x[:0], s.ends[:0] }

func (s *graphObservations) row(i int) []float32 {
	from := 0
	if i > 0 {
		from = s.ends[i-1]
	}
	return s.x[from:s.ends[i]]
}

// State implements [state.Stater].
func (s *graphObservations) State(c *state.Codec) {
	state.Slice(c, &s.x)
	state.Slice(c, &s.ends)
	if c.Loaded() {
		c.Fail(s.check())
	}
}

// check says what is wrong with loaded rows: each must be a graph of the environment's.
func (s *graphObservations) check() error {
	at := 0
	for i, end := range s.ends {
		if end < at || end > len(s.x) {
			return fmt.Errorf("observation %d ends at number %d, want %d to %d", i, end, at, len(s.x))
		}
		if err := s.reader.Check(s.x[at:end]); err != nil {
			return fmt.Errorf("observation %d: %w", i, err)
		}
		at = end
	}
	if at < len(s.x) {
		return fmt.Errorf("%d numbers follow the last observation", len(s.x)-at)
	}
	return nil
}
