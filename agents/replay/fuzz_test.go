package replay

import (
	"bytes"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// Rows that come back from a file are refused or are what the buffer gives back, from any number on.
func FuzzRestore(f *testing.F) {
	f.Add(int64(0), []byte("0123456789abcdef0123456789abcdef"))
	f.Add(int64(1)<<62, make([]byte, 8*12))
	f.Fuzz(func(t *testing.T, first int64, rows []byte) {
		b := must.Get(New([]Column{{"a", 2}, {"b", 1}}, 3))(t)
		if err := b.Restore(first); err != nil {
			return
		}
		var kept [][]byte
		for len(rows) > 0 {
			row := rows[:min(len(rows), b.RowBytes())]
			rows = rows[len(row):]
			if err := b.SetRow(row); err != nil {
				if len(row) == b.RowBytes() {
					t.Fatal(err)
				}
				break
			}
			kept = append(kept, row)
		}
		kept = kept[max(0, len(kept)-3):]
		for i, want := range kept {
			if got := b.AppendRow(b.Next()-int64(len(kept)-i), nil); !bytes.Equal(got, want) {
				t.Errorf("row %d is %x, was %x", i, got, want)
			}
		}
		if b.First() == b.Next() || len(kept) < b.Len() {
			return // rows that never came
		}
		index := make([]int64, 4)
		must.Do(t, b.Sample(rng.NewStream(1, "fuzz"), index))
		b.Gather(0, index, 1, make([]float32, 8))
	})
}
