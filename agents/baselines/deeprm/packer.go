package deeprm

import "github.com/stoker-rl/stoker/envs"

// PackerConfig has no settings.
type PackerConfig struct{}

// DefaultPacker returns the only configuration.
func DefaultPacker() PackerConfig { return PackerConfig{} }

// Packer starts, of the jobs that fit, the one with the largest alignment Σ_r free_r·demand_r, in the lowest place of
// several. It ignores how long jobs run.
type Packer struct{ stateless }

// NewPacker returns a policy for environments such as env.
func NewPacker(_ PackerConfig, env envs.Env) (*Packer, error) {
	r, err := newStateless("packer", env)
	if err != nil {
		return nil, err
	}
	return &Packer{r}, nil
}

// Act implements [envs.Policy].
func (p *Packer) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	o := &obs.Kinds[0]
	best, most := -1, 0
	for i := range p.Visible {
		if !p.fits(o, i) {
			continue
		}
		if a := p.alignment(o.Values, i); a > most {
			best, most = i, a
		}
	}
	p.choose(act, best)
	return nil
}
