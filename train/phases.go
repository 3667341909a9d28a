package train

import "time"

// Phases of the loop; the fraction of time of each is shown.
const (
	phaseAct = iota
	phaseStep
	phaseObserve
	phaseUpdate
	phaseLog
	phaseEvaluate
	phaseSave
	phaseCount
)

var phaseNames = [phaseCount]string{"act", "step", "observe", "update", "log", "evaluate", "save"}

// phases measures how time is spent, since the last report.
type phases struct {
	mark         time.Time
	spent        [phaseCount]time.Duration
	before       [phaseCount]time.Duration // between the last two reports
	total        [phaseCount]time.Duration // of this process
	since, began time.Time
	lastSteps    int64
}

func newPhases(steps int64) phases {
	now := time.Now()
	return phases{since: now, began: now, lastSteps: steps}
}

func (p *phases) start() { p.mark = time.Now() }

func (p *phases) lap(phase int) {
	now := time.Now()
	p.spent[phase] += now.Sub(p.mark)
	p.total[phase] += now.Sub(p.mark)
	p.mark = now
}

// shares returns the phases' shares of the time measured since the last report but one, so that there always is
// something to show.
func (p *phases) shares() (out [phaseCount]float64) {
	var all time.Duration
	for i := range out {
		all += p.spent[i] + p.before[i]
	}
	for i := range out {
		out[i] = float64(p.spent[i]+p.before[i]) / float64(max(all, 1))
	}
	return out
}

// report returns rate and shares since the last report, the rate first, and starts anew.
func (p *phases) report(steps int64) []value {
	now := time.Now()
	out := []value{
		{"time/fps", float64(steps-p.lastSteps) / max(now.Sub(p.since).Seconds(), 1e-9)},
		{"time/elapsed_s", now.Sub(p.began).Seconds()},
	}
	p.before = [phaseCount]time.Duration{}
	for i, share := range p.shares() {
		out = append(out, value{"time/share_" + phaseNames[i], share})
	}
	p.before, p.spent = p.spent, [phaseCount]time.Duration{}
	p.since, p.lastSteps = now, steps
	return out
}

// Phase is what a part of the loop took of a process's time.
type Phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Share   float64 `json:"share"`
}

// all lists the phases since the process began; "other" is what none of them had, such as drawing progress.
func (p *phases) all() []Phase {
	whole := max(time.Since(p.began).Seconds(), 1e-9)
	rest := Phase{"other", whole, 1}
	var out []Phase
	for i, d := range p.total {
		out = append(out, Phase{phaseNames[i], d.Seconds(), d.Seconds() / whole})
		rest.Seconds -= d.Seconds()
	}
	rest.Share = rest.Seconds / whole
	return append(out, rest)
}
