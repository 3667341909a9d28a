package ppo

import "fmt"

// Hold keeps the weights of some agents as they are, bit for bit: held has an entry for each agent of the first kind,
// each with weights of its own. It is called before the first update.
func (l *Learner) Hold(held []bool) error {
	p := l.parts[0]
	if p.groups != len(held) {
		return fmt.Errorf("ppo: %d agents to hold or not, want one for each of %d sets of weights", len(held), p.groups)
	}
	p.held = held
	return nil
}
