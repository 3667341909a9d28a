package variants

import (
	"math"
	"slices"

	"github.com/stoker-rl/stoker/bounds"
)

// Grid are memory sizes in MB: either a list, or From, From+Step, … up to To.
type Grid struct {
	Sizes []float64 `yaml:"sizes,omitempty" json:"sizes,omitempty" range:"(0,1e9]"`
	From  float64   `yaml:"from,omitempty" json:"from,omitempty" range:"[0,1e9]"`
	To    float64   `yaml:"to,omitempty" json:"to,omitempty" range:"[0,1e9]"`
	Step  float64   `yaml:"step,omitempty" json:"step,omitempty" range:"[0,1e9]"`
}

// Sizes returns the grid of a list.
func Sizes(mb ...float64) Grid { return Grid{Sizes: mb} }

// Range returns the grid from, from+step, … up to to.
func Range(from, to, step float64) Grid { return Grid{From: from, To: to, Step: step} }

// General is the papers' grid of functions that are no models: 128 to 3008 MB, 16 sizes.
func General() Grid { return Range(128, 3008, 192) }

// ML is the papers' grid of functions that are models: 1024 to 10240 MB, 19 sizes.
func ML() Grid { return Range(1024, 10240, 512) }

// maxSizes bounds a variant's sizes.
const maxSizes = 4096

func (g Grid) empty() bool { return len(g.Sizes) == 0 && g.From == 0 && g.To == 0 && g.Step == 0 }

// list returns the sizes, ascending. key is the grid's place in the file.
func (g Grid) list(key string) ([]float64, error) {
	if len(g.Sizes) > 0 {
		if g.From != 0 || g.To != 0 || g.Step != 0 {
			return nil, bounds.Errorf(key, "has sizes and from, to, step: want one of both")
		}
		for i, mb := range g.Sizes {
			if !(mb > 0) || math.IsInf(mb, 0) {
				return nil, bounds.Errorf(key, "has %g MB, want positive numbers", mb)
			}
			if slices.Index(g.Sizes, mb) < i {
				return nil, bounds.Errorf(key, "has %g MB twice", mb)
			}
		}
		if len(g.Sizes) > maxSizes {
			return nil, bounds.Errorf(key, "has %d sizes, want at most %d", len(g.Sizes), maxSizes)
		}
		return slices.Sorted(slices.Values(g.Sizes)), nil
	}
	if !(g.From > 0) || !(g.To >= g.From) || math.IsInf(g.To, 0) || g.To > g.From && !(g.Step > 0) {
		return nil, bounds.Errorf(key, "goes from %g to %g MB in steps of %g, want 0 < from ≤ to and step > 0", g.From, g.To, g.Step)
	}
	if g.To == g.From {
		return []float64{g.From}, nil
	}
	n := math.Floor((g.To-g.From)/g.Step+1e-9) + 1
	if n > maxSizes {
		return nil, bounds.Errorf(key, "has %g sizes, want at most %d", n, maxSizes)
	}
	out := make([]float64, int(n))
	for i := range out {
		out[i] = g.From + float64(float64(i)*g.Step)
	}
	return out, nil
}
