package sim

import (
	"slices"

	"github.com/stoker-rl/stoker/envs/state"
)

// newPlan checks and compiles a configuration.
func newPlan(cfg Config) (*plan, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	p := &plan{cfg: cfg}
	p.cfg.Functions, p.cfg.Nodes = slices.Clone(cfg.Functions), slices.Clone(cfg.Nodes)
	switch cfg.SketchBits {
	case NoSketch:
	case 0:
		p.bits = 6
	default:
		p.bits = cfg.SketchBits
	}
	for i := range cfg.Functions {
		p.fn = append(p.fn, functionPlan{demand: newDrawer(cfg.Functions[i].Demand),
			cold: newDrawer(cfg.Functions[i].ColdStart)})
	}
	var err error
	if p.fingerprint, err = state.Fingerprint(shape{&p.cfg}); err != nil {
		return nil, err
	}
	return p, nil
}
