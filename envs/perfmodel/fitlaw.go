package perfmodel

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// What a law has where the measurements do not tell it.
const (
	DefaultOverhead = 0.1
	DefaultCrowding = 0.1
	DefaultCV       = 0.2
)

// Fitted is a law fitted to settings, with its errors.
type Fitted struct {
	Law Law
	// Predicted is the law's time under each setting, in seconds.
	Predicted []float64
	// Error is the mean over settings of |predicted - measured| / measured. LeftOut is the same where the law was fitted
	// to the other settings, ten parts of them in turn; NaN where fewer than two settings would be left for a number.
	Error, LeftOut float64
	// Untold are the numbers of the law that the settings do not tell.
	Untold []Untold
}

// Untold is a number of a law that the measurements do not tell: why, what was taken, and what to measure.
type Untold struct {
	Parameter string  `json:"parameter"`
	Why       string  `json:"why"`
	Taken     float64 `json:"taken"`
	Measure   string  `json:"measure"`
}

// free says which numbers of a law are fitted beside Work, and which others are held.
type free struct{ parallel, overhead, crowding bool }

func (f free) count() int {
	n := 1
	for _, on := range []bool{f.parallel, f.overhead, f.crowding} {
		if on {
			n++
		}
	}
	return n
}

// unlimited is a Parallel that no setting reaches.
const unlimited = 1e6

// FitLaw fits Work, Parallel, Overhead, Crowding and CV to settings: least squares of ln(predicted/measured), each setting
// once. Numbers that the settings cannot tell have a default, and are named. No settings, or a number of one that is not
// positive and finite, are an error.
func FitLaw(settings []Setting) (*Fitted, error) {
	if len(settings) == 0 {
		return nil, fmt.Errorf("perfmodel: there are no settings to fit a law to")
	}
	for i := range settings {
		s := &settings[i]
		for _, x := range []float64{s.CPU, s.Seconds, s.Inside} {
			if !(x > 0) || math.IsInf(x, 0) || s.Held && s.Inside < 1 {
				return nil, fmt.Errorf("perfmodel: setting %d is %+v, want a CPU limit, a time and a number of requests inside, above "+
					"0 (held: at least 1)", i, *s)
			}
		}
	}
	settings = slices.Clone(settings)
	free := choose(settings)
	l, _ := fit(settings, free)
	f := &Fitted{Law: l, LeftOut: leftOut(settings, free)}
	f.tell(settings, free)
	for i := range settings {
		p := f.Law.Predict(&settings[i])
		f.Predicted = append(f.Predicted, p)
		f.Error += math.Abs(p/settings[i].Seconds-1) / float64(len(settings))
	}
	return f, nil
}

// choose says what the settings tell: overhead and parallel need several CPU limits, crowding several loads.
func choose(settings []Setting) free {
	cpus, loads := map[float64]bool{}, map[int]bool{}
	low, high := math.Inf(1), 0.0
	for i := range settings {
		n := settings[i].others()
		cpus[settings[i].CPU], loads[int(math.Round(4*n))] = true, true
		low, high = min(low, n), max(high, n)
	}
	f := free{crowding: high >= 0.2 && (1+high)/(1+low) >= 1.15}
	try := []free{{true, true, f.crowding}}
	switch {
	case len(cpus) == 1 && len(loads) >= 3:
		try = []free{{true, false, f.crowding}, {false, false, f.crowding}}
	case len(cpus) == 1:
		try = []free{f}
	case len(cpus) == 2:
		try = []free{{false, true, f.crowding}, {true, false, f.crowding}}
	}
	best, least := free{}, math.Inf(1)
	for _, t := range try {
		for t.count() > len(settings) {
			switch {
			case t.crowding:
				t.crowding = false
			case t.overhead:
				t.overhead = false
			default:
				t.parallel = false
			}
		}
		if _, loss := fit(settings, t); loss < least-1e-9 {
			best, least = t, loss
		}
	}
	return best
}

// fit returns the law with the least loss, from several starts.
func fit(settings []Setting, f free) (Law, float64) {
	l := Law{Parallel: unlimited, Overhead: DefaultOverhead, Crowding: DefaultCrowding, CV: DefaultCV}
	// x are ln Work and what is free of ln Parallel, √Overhead and √Crowding.
	set := func(l *Law, x []float64) {
		l.Work = math.Exp(min(max(x[0], -20), 20))
		i := 1
		next := func() float64 { i++; return min(max(x[i-1], -8), 8) }
		if f.parallel {
			l.Parallel = math.Exp(next())
		}
		if f.overhead {
			v := next()
			l.Overhead = v * v
		}
		if f.crowding {
			v := next()
			l.Crowding = v * v
		}
	}
	loss := func(x []float64) float64 {
		set(&l, x)
		var sum float64
		for i := range settings {
			d := math.Log(l.Predict(&settings[i]) / settings[i].Seconds)
			d = min(max(d, -1.5), 1.5) // bounds what a single window can do
			sum += float64(d * d)
		}
		return sum / float64(len(settings))
	}
	type start struct {
		x    []float64
		loss float64
	}
	var starts []start
	for _, parallel := range pick(f.parallel, 0.25, 0.5, 1, 2, 4) {
		for _, overhead := range pick(f.overhead, 0.03, 0.3) {
			for _, crowding := range pick(f.crowding, 0.03, 0.2) {
				x := []float64{0}
				for _, v := range []struct {
					free bool
					x    float64
				}{{f.parallel, math.Log(parallel)}, {f.overhead, math.Sqrt(overhead)}, {f.crowding, math.Sqrt(crowding)}} {
					if v.free {
						x = append(x, v.x)
					}
				}
				set(&l, x)
				for i := range settings {
					s := &settings[i]
					x[0] += math.Log(s.Seconds/l.Seconds(s.CPU, 1+s.others())) / float64(len(settings))
				}
				starts = append(starts, start{x, loss(x)})
			}
		}
	}
	slices.SortStableFunc(starts, func(a, b start) int { return cmp.Compare(a.loss, b.loss) })
	best := start{loss: math.Inf(1)}
	for _, s := range starts[:min(4, len(starts))] {
		if s.x, s.loss = simplex(s.x, 0.2, 100, loss); s.loss < best.loss {
			best = s
		}
	}
	best.x, best.loss = simplex(best.x, 0.05, 300, loss)
	set(&l, best.x)
	return l, best.loss
}

func pick(free bool, values ...float64) []float64 {
	if free {
		return values
	}
	return values[:1]
}

// parts is the number of parts of the settings that are left out in turn.
const parts = 10

// leftOut returns the mean relative error under settings that the fit has not seen.
func leftOut(settings []Setting, f free) float64 {
	n := min(parts, len(settings))
	if len(settings)-(len(settings)+n-1)/n < f.count() || len(settings) < 2 {
		return math.NaN()
	}
	order := slices.Clone(settings)
	slices.SortStableFunc(order, func(a, b Setting) int {
		return cmp.Or(cmp.Compare(a.CPU, b.CPU), cmp.Compare(a.others(), b.others()))
	})
	var sum float64
	for part := range n {
		var rest []Setting
		for i := range order {
			if i%n != part {
				rest = append(rest, order[i])
			}
		}
		l, _ := fit(rest, f)
		for i := part; i < len(order); i += n {
			sum += math.Abs(l.Predict(&order[i])/order[i].Seconds-1) / float64(len(order))
		}
	}
	return sum
}

// simplex searches a minimum of f near x by Nelder and Mead's method (A simplex method for function minimization, 1965)
// in at most so many steps.
func simplex(x []float64, size float64, steps int, f func([]float64) float64) ([]float64, float64) {
	type vertex struct {
		x    []float64
		loss float64
	}
	at := func(x []float64) vertex { return vertex{x, f(x)} }
	v := []vertex{at(slices.Clone(x))}
	for i := range x {
		y := slices.Clone(x)
		y[i] += size
		v = append(v, at(y))
	}
	n := len(x)
	for range steps {
		slices.SortStableFunc(v, func(a, b vertex) int { return cmp.Compare(a.loss, b.loss) })
		if v[n].loss-v[0].loss < 1e-11 {
			break
		}
		// along returns the point at t times the way from the worst vertex to the middle of the others.
		along := func(t float64) vertex {
			y := make([]float64, n)
			for i := range y {
				for _, u := range v[:n] {
					y[i] += u.x[i] / float64(n)
				}
				y[i] = v[n].x[i] + float64(t*(y[i]-v[n].x[i]))
			}
			return at(y)
		}
		next := along(2)
		switch {
		case next.loss < v[0].loss:
			if further := along(3); further.loss < next.loss {
				next = further
			}
		case next.loss >= v[n-1].loss:
			t := 0.5
			if next.loss < v[n].loss {
				t = 1.5
			}
			if next = along(t); next.loss >= v[n].loss {
				for i := range v[1:] {
					y := v[i+1].x
					for j := range y {
						y[j] = (y[j] + v[0].x[j]) / 2
					}
					v[i+1] = at(y)
				}
				continue
			}
		}
		v[n] = next
	}
	slices.SortStableFunc(v, func(a, b vertex) int { return cmp.Compare(a.loss, b.loss) })
	return v[0].x, v[0].loss
}

// tell takes CV from the settings, brings a Parallel that no setting bounds to what was measured, and names what the
// settings do not tell.
func (f *Fitted) tell(settings []Setting, free free) {
	l := &f.Law
	untold := func(parameter, why string, taken float64, measure string) {
		f.Untold = append(f.Untold, Untold{parameter, why, taken, measure})
	}
	low, high, most := math.Inf(1), 0.0, 0.0
	for i := range settings {
		s := &settings[i]
		low, high, most = min(low, s.CPU), max(high, s.CPU), max(most, s.others())
	}
	allLimited, allFree := true, true // whether Parallel bounds requests in no setting; in every one
	for i := range settings {
		s := &settings[i]
		least := 1.0
		if s.Held {
			least = s.Inside
		}
		allLimited = allLimited && l.Effective(s.CPU) <= l.Parallel*least
		allFree = allFree && l.Effective(s.CPU) > l.Parallel*(1+s.others())
	}
	switch {
	case allLimited:
		l.Parallel = l.Effective(high)
		untold("parallel", fmt.Sprintf("requests use all CPU up to the largest limit measured, %g millicores: it may be larger",
			high), l.Parallel, "a larger CPU limit, one request at a time")
	case allFree && (free.parallel || free.overhead):
		// Only Work/Parallel is told: at the smallest limit a request has all the CPU that it can use.
		alone := l.Work / l.Parallel
		l.Overhead = DefaultOverhead
		l.Parallel = l.Effective(low)
		l.Work = alone * l.Parallel
		free.overhead = false
		untold("parallel", fmt.Sprintf("more CPU than %g millicores, the smallest limit measured, changes nothing: it may be "+
			"smaller, and work with it", low), l.Parallel, "a smaller CPU limit")
	}
	if !free.overhead {
		l.Overhead = DefaultOverhead
		untold("overhead", "it follows from the times under several CPU limits that slow a request", l.Overhead,
			"three CPU limits or more, the smallest well below what a request can use")
	}
	if !free.crowding {
		untold("crowding", fmt.Sprintf("requests were together with about the same number of others, at most %.2g", most),
			l.Crowding, "one request at a time, and several at once, under the same CPU limit")
	}
	if cv, ok := variation(settings); ok {
		l.CV = cv
	} else {
		untold("cv", "it follows from requests that ran alone", l.CV,
			"ten requests or more one at a time, a row each (cpu, inside, ms)")
	}
	f.round()
}

// round writes the law in four figures, as it is printed.
func (f *Fitted) round() {
	l := &f.Law
	for _, x := range []*float64{&l.Work, &l.Parallel, &l.Overhead, &l.Crowding, &l.CV} {
		*x = figures(*x)
	}
	for i := range f.Untold {
		f.Untold[i].Taken = figures(f.Untold[i].Taken)
	}
}

// figures rounds to four figures, at most to the sixth decimal.
func figures(x float64) float64 {
	if x == 0 {
		return 0
	}
	unit := math.Pow(10, math.Min(6, 3-math.Floor(math.Log10(math.Abs(x)))))
	return math.Round(x*unit) / unit
}

// variation returns the coefficient of variation of single requests that were alone in their instance, over the settings
// together, if there are enough.
func variation(settings []Setting) (float64, bool) {
	var sum, n float64
	for i := range settings {
		if s := &settings[i]; s.Held && s.Inside <= 1.05 && s.Rows > 1 {
			cv := s.SD / s.Seconds
			sum += float64(float64(s.Rows-1) * float64(cv*cv))
			n += float64(s.Rows - 1)
		}
	}
	if n < 9 {
		return 0, false
	}
	return math.Sqrt(sum / n), true
}
