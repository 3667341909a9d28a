package saved

import (
	"errors"

	"github.com/stoker-rl/stoker/agents"
)

// Inside is a learner around which another one is built.
type Inside interface {
	Save(s *agents.State) error
	Load(s *agents.State) error
}

// SaveBeside writes a learner, and the parts that the one around it has beside it.
func SaveBeside(inside Inside, p *Parts, s *agents.State) error {
	return errors.Join(inside.Save(s), p.Save(s))
}

// LoadBeside restores what [SaveBeside] wrote. Where it fails nothing has changed.
func LoadBeside(inside Inside, p *Parts, s *agents.State) error {
	before := agents.NewState()
	if err := p.Save(before); err != nil {
		return err
	}
	if err := p.Load(s); err != nil {
		return err
	}
	if err := inside.Load(s); err != nil {
		return errors.Join(err, p.Load(before))
	}
	return nil
}
