package reinforce

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents/graphs"
)

// graphObservations is graphs as rows of numbers, of unequal length.
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

// appendTo appends the rows, each after its length.
func (s *graphObservations) appendTo(b []byte) []byte {
	for i := range s.ends {
		row := s.row(i)
		b = binary.LittleEndian.AppendUint64(b, uint64(len(row)))
		for _, x := range row {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	return b
}

// read implements seen. A row that is no graph of the environment's is an error.
func (s *graphObservations) read(b []byte, rows int) ([]byte, error) {
	s.clear()
	for i := range rows {
		n, rest, err := number(b)
		if err != nil {
			return nil, err
		}
		if n > uint64(len(rest))/4 {
			return nil, fmt.Errorf("graph %d takes %d numbers, %d bytes are left", i, n, len(rest))
		}
		for b = rest; n > 0; n, b = n-1, b[4:] {
			s.x = append(s.x, math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
		s.ends = append(s.ends, len(s.x))
		if err := s.reader.Check(s.row(i)); err != nil {
			return nil, fmt.Errorf("graph %d: %w", i, err)
		}
	}
	return b, nil
}
