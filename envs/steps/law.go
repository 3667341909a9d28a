package steps

import (
	"slices"

	"github.com/stoker-rl/stoker/bounds"
)

// Empty reports whether there is no law.
func (l *Law) Empty() bool {
	return l.A == 0 && l.B == 0 && l.Fixed == 0 && len(l.Tasks)+len(l.Seconds) == 0
}

// validate says what is wrong with the law of a step, naming the key below key.
func (l *Law) validate(key string, multicore bool) error {
	switch {
	case len(l.Tasks) != len(l.Seconds):
		return bounds.Errorf(key+".seconds", "has %d times for %d numbers of tasks, want one for each", len(l.Seconds),
			len(l.Tasks))
	case len(l.Tasks) > 0 && (l.A != 0 || l.B != 0 || l.C != 0):
		return bounds.Errorf(key+".tasks", "are there beside a, b or c: want measured times or a formula")
	case len(l.Tasks) > 0 && multicore:
		return bounds.Errorf(key+".tasks", "are times of one core, but the step is multicore: want a, b and c")
	case len(l.Tasks) == 0 && l.A == 0 && l.B == 0 && l.Fixed == 0:
		return bounds.Errorf(key, "gives 0 s: want a, the seconds of a task")
	case len(l.Tasks) == 0 && l.A == 0:
		return bounds.Errorf(key+".a", "is missing, want the seconds of a task with one core")
	case !multicore && (l.C != 0 || l.Cores != 0):
		return bounds.Errorf(key+".c", "and cores are of code of several cores: want multicore: true beside them")
	}
	for i := 1; i < len(l.Tasks); i++ {
		if l.Tasks[i] <= l.Tasks[i-1] {
			return bounds.Errorf(key+".tasks", "is %v, want ascending numbers", l.Tasks)
		}
		if l.Seconds[i] < l.Seconds[i-1] {
			return bounds.Errorf(key+".seconds", "is %v, want no time below that of fewer tasks", l.Seconds)
		}
	}
	return nil
}

// measured returns the measured time for some tasks.
func (l *Law) measured(tasks int) float64 {
	i, found := slices.BinarySearch(l.Tasks, tasks)
	last := len(l.Tasks) - 1
	switch {
	case found:
		return l.Seconds[i]
	case i == 0:
		return l.Seconds[0]
	case i > last:
		return l.Seconds[last] * (float64(tasks) / float64(l.Tasks[last]))
	}
	a, b := l.Seconds[i-1], l.Seconds[i]
	return a + float64((b-a)*(float64(tasks-l.Tasks[i-1])/float64(l.Tasks[i]-l.Tasks[i-1])))
}
