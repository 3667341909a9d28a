package variants

import (
	"errors"
	"math"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/workload"
)

// Load is a load on an application, the platform that serves it, and what part of it is measured.
type Load struct {
	// Workload says when requests begin: a trace or a process, not closed-loop users.
	Workload workload.Config `yaml:"workload" json:"workload"`
	// Platform is what starts cold, is kept, and is billed.
	Platform Platform `yaml:"platform" json:"platform"`
	// Start is the minute of the workload at which the warm-up begins; requests that begin in the warm-up are served and
	// not measured. Warmup is its length in minutes.
	Start  float64 `yaml:"start" json:"start" range:"[0,1e9]"`
	Warmup float64 `yaml:"warmup" json:"warmup" range:"[0,1e6]"`
	// Minutes is the length of the period that is measured; 0 is all that the workload has.
	Minutes float64 `yaml:"minutes" json:"minutes" range:"[0,1e9]"`
	// Seed names the draws.
	Seed uint64 `yaml:"seed" json:"seed"`
}

// DefaultLoad returns the embedded trace on the default platform, after a warm-up of twice its keep-alive.
func DefaultLoad() Load {
	return Load{Workload: workload.Default(), Platform: DefaultPlatform(), Warmup: 20}
}

// poissonRequests is about how many requests [PoissonLoad] measures.
const poissonRequests = 10_000

// PoissonLoad returns Poisson arrivals at a rate in requests a second on the default platform: about 10,000 requests,
// and an hour of them at least.
func PoissonLoad(rate float64) (Load, error) {
	l := DefaultLoad()
	if !(rate >= 1e-5 && rate <= 1e4) {
		return l, bounds.Errorf("rate", "is %g requests a second, want 1e-5 to 1e4", rate)
	}
	l.Workload.Kind, l.Workload.Rate = workload.Poisson, rate
	l.Workload.Length = int(l.Warmup) + int(math.Ceil(max(60, poissonRequests/(60*rate))))
	return l, nil
}

// Validate reports the first wrong field by its key, that of the workload aside.
func (l *Load) Validate() error {
	if err := bounds.Check(l); err != nil {
		return err
	}
	if l.Workload.Kind == workload.ClosedLoop {
		return bounds.Errorf("workload.kind", "is %s, want arrivals: a trace, or a process such as poisson", l.Workload.Kind)
	}
	err := l.Platform.Validate()
	var w *bounds.Error
	if errors.As(err, &w) {
		return &bounds.Error{Key: "platform." + w.Key, Text: w.Text}
	}
	return err
}

// Measurer returns a measurer for a model under the load, and the period to measure.
func (l Load) Measurer(m *Model) (*Measurer, Period, error) {
	if err := l.Validate(); err != nil {
		return nil, Period{}, err
	}
	source, err := workload.Open(l.Workload)
	if err != nil {
		return nil, Period{}, err
	}
	p := Period{Seed: l.Seed, Start: l.Start, Warmup: l.Warmup, Minutes: l.Minutes}
	if p.Minutes == 0 {
		p.Minutes = float64(source.Minutes()) - l.Start - l.Warmup
		if !(p.Minutes > 0) {
			return nil, p, bounds.Errorf("warmup", "is %g minutes from minute %g on, and the workload has %d: nothing is left "+
				"to measure", l.Warmup, l.Start, source.Minutes())
		}
	}
	if err := p.validate(source.Minutes()); err != nil {
		return nil, p, err
	}
	x, err := NewMeasurer(m, l.Platform, source)
	return x, p, err
}
