package deeprm

import (
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
)

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

// TetrisStarConfig configures [TetrisStar].
type TetrisStarConfig struct {
	// K is the weight of packing: 1 is Packer, 0 is SJF. No source gives DeepRM's value; 0.2 and 0.5 are equally good,
	// and better than 0.8.
	K float64 `yaml:"k" json:"k" range:"[0,1]"`
}

// DefaultTetrisStar returns equal weights.
func DefaultTetrisStar() TetrisStarConfig { return TetrisStarConfig{K: 0.5} }

// Validate reports the first wrong field.
func (c *TetrisStarConfig) Validate() error { return bounds.Check(c) }

// TetrisStar is DeepRM's Tetris*, for one machine. Of the jobs that fit it starts the one with the largest
//
//	k · Σ_r free_r·demand_r / (R·C²) + (1 − k) / length
//
// with R resources of C slots, in the lowest place of several. DeepRM's code adds the two terms unscaled; here both are
// at most 1.
type TetrisStar struct {
	stateless
	config TetrisStarConfig
}

// NewTetrisStar returns a policy for environments such as env.
func NewTetrisStar(c TetrisStarConfig, env envs.Env) (*TetrisStar, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	r, err := newStateless("tetris-star", env)
	if err != nil {
		return nil, err
	}
	return &TetrisStar{r, c}, nil
}

// Act implements [envs.Policy].
func (p *TetrisStar) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	o := &obs.Kinds[0]
	all := float64(p.Resources * p.Slots * p.Slots)
	best, most := -1, 0.0
	for i := range p.Visible {
		if !p.fits(o, i) {
			continue
		}
		s := float64(p.config.K*float64(p.alignment(o.Values, i)))/all + (1-p.config.K)/float64(p.Length(o.Values, i))
		if best < 0 || s > most {
			best, most = i, s
		}
	}
	p.choose(act, best)
	return nil
}
