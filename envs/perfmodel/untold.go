package perfmodel

import (
	"fmt"
	"math"
)

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
