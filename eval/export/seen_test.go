package export

import (
	"testing"

	"github.com/stoker-rl/stoker/rng"
)

// The range of a feature does not fall, however its quantiles are rounded.
func TestRangesDoNotFall(t *testing.T) {
	draw := rng.NewStream(1, "ranges")
	for range 2000 {
		x := float32(draw.Float64())
		u := newTable("a", "", 1, nil)
		for k := range 3 + draw.IntN(40) {
			row := []float32{x}
			if k == 0 {
				row[0] += float32(draw.Float64())
			}
			u.add(row)
		}
		r := u.seen().Features[0]
		if !(r.Least <= r.Low && r.Low <= r.Median && r.Median <= r.High && r.High <= r.Greatest) {
			t.Fatalf("%+v", r)
		}
	}
}
