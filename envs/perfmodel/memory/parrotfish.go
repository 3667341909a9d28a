package memory

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Parrotfish is the choice of memory sizes to measure of Moghimi et al. (Parrotfish, SoCC 2023), by which OptiServe
// profiles functions: each next size is the one that is expected to be cheapest, and about which little is known.
type Parrotfish struct {
	// Samples is the number of runs at a size at first: 4 in the code, 3 in OptiServe's thesis.
	Samples int
	// CV is the coefficient of variation from which on a size is measured again, up to More times, each run in place of the
	// one whose loss lowers the variation most.
	CV   float64
	More int
	// Width is the standard deviation in MB of what a measured size tells about its neighbours: 1 at the size itself.
	Width float64
	// Known is the knowledge at the cheapest size from which on measuring ends, 1 plus that of all measured sizes, and
	// Points the most sizes.
	Known  float64
	Points int
}

// PublishedParrotfish has the constants of Parrotfish's code, and three samples as in OptiServe's thesis.
func PublishedParrotfish() Parrotfish {
	return Parrotfish{Samples: 3, CV: 0.05, More: 8, Width: 200, Known: 3, Points: 20}
}

// Validate reports the first number out of range.
func (p Parrotfish) Validate() error {
	switch {
	case p.Samples < 1:
		return fmt.Errorf("memory: %d samples, want at least 1", p.Samples)
	case !(p.CV > 0):
		return fmt.Errorf("memory: a coefficient of variation of %g, want a positive number", p.CV)
	case p.More < 0:
		return fmt.Errorf("memory: %d more samples, want 0 or more", p.More)
	case !(p.Width > 0):
		return fmt.Errorf("memory: a width of %g MB, want a positive number", p.Width)
	case p.Points < 3:
		return fmt.Errorf("memory: %d sizes, want at least 3", p.Points)
	}
	return nil
}

// Bought is what was measured so far: Sizes are the kept runs by size, ascending, Runs the number of all runs, also of
// those that others took the place of.
type Bought struct {
	Sizes []Size
	Runs  int
	// Law is the exponential law by plain least squares over the sizes (OptiServe, eq. 3.1).
	Law Law
	// Known is the knowledge at the size that the law says to be the cheapest.
	Known float64
}

// Buy measures a function. sizes are those that can be measured, ascending, at least 3; run runs the function once with a
// size in MB and returns the seconds. After the first three sizes, and after each further one, see is told what is
// known; it may end the measuring by returning false. The last one is returned.
func (p Parrotfish) Buy(sizes []float64, run func(mb float64) (float64, error), see func(Bought) bool) (Bought, error) {
	var b Bought
	if err := p.Validate(); err != nil {
		return b, err
	}
	n := len(sizes)
	if n < 3 {
		return b, fmt.Errorf("memory: %d memory sizes to choose from, want at least 3", n)
	}
	measured := map[float64]bool{}
	measure := func(mb float64) error {
		times, runs, err := p.measure(mb, run)
		if err != nil {
			return err
		}
		measured[mb] = true
		b.Runs += runs
		slices.Sort(times)
		b.Sizes = append(b.Sizes, SizeOf(mb, times))
		slices.SortFunc(b.Sizes, func(x, y Size) int { return cmp.Compare(x.MB, y.MB) })
		return nil
	}
	for _, i := range []int{0, (n + 2) / 3, n - 1} {
		if err := measure(sizes[i]); err != nil {
			return b, err
		}
	}
	for {
		law, err := Fit(Exponential, b.Sizes, Options{Plain: true})
		if err != nil {
			return b, err
		}
		b.Law = law
		cheapest, next := 0.0, 0.0
		least, leastNext := math.Inf(1), math.Inf(1)
		for _, mb := range sizes {
			cost := law.Seconds(mb) * mb
			if cost < least {
				cheapest, least = mb, cost
			}
			if c := cost * p.knowledge(b.Sizes, mb); !measured[mb] && c < leastNext {
				next, leastNext = mb, c
			}
		}
		b.Known = p.knowledge(b.Sizes, cheapest)
		if !see(b) || b.Known > p.Known || len(b.Sizes) >= p.Points || next == 0 {
			return b, nil
		}
		if err := measure(next); err != nil {
			return b, err
		}
	}
}

// knowledge returns 1 plus what the measured sizes tell about a size.
func (p Parrotfish) knowledge(sizes []Size, mb float64) float64 {
	known := 1.0
	for _, s := range sizes {
		z := (mb - s.MB) / p.Width
		known += math.Exp(-float64(z*z) / 2)
	}
	return known
}

// measure runs a function at one size. It returns the times that are kept, and how many runs there were.
func (p Parrotfish) measure(mb float64, run func(mb float64) (float64, error)) (times []float64, runs int, err error) {
	for range p.Samples {
		t, err := run(mb)
		if err != nil {
			return nil, runs, err
		}
		times, runs = append(times, t), runs+1
	}
	for range p.More {
		now := variation(times)
		if now <= p.CV {
			break
		}
		t, err := run(mb)
		if err != nil {
			return nil, runs, err
		}
		runs++
		place := -1
		for i, old := range times {
			times[i] = t
			if v := variation(times); v < now {
				now, place = v, i
			}
			times[i] = old
		}
		if place >= 0 {
			times[place] = t
		}
	}
	return times, runs, nil
}

// variation returns the coefficient of variation.
func variation(times []float64) float64 {
	s := SizeOf(0, times)
	return s.SD / s.Mean
}
