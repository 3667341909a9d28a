package classic

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
)

// Pose returns angle and angular velocity as the dynamics have them.
func (p *Pendulum) Pose() [2]float64 { return [2]float64(p.x) }

// SetPose turns the rod somewhere, as at the beginning of an episode: to compare single steps.
func (p *Pendulum) SetPose(pose [2]float64, obs *envs.Observation) {
	p.steps, p.running = 0, true
	copy(p.x, pose[:])
	p.see(obs)
}

// Pose returns position, velocity, angle and angular velocity as the dynamics have them.
func (c *CartPole) Pose() [4]float64 { return [4]float64(c.x) }

// SetPose puts cart and pole somewhere, as at the beginning of an episode: to compare single steps.
func (c *CartPole) SetPose(pose [4]float64, obs *envs.Observation) {
	c.steps, c.running = 0, true
	copy(c.x, pose[:])
	c.see(obs)
}

// SetBodies puts agents and landmarks somewhere, [agents, 2] each, as at the beginning of an episode: to compare single
// steps.
func (s *Spread) SetBodies(position, velocity, landmark []float64, obs *envs.Observation) error {
	for _, part := range [][]float64{position, velocity, landmark} {
		if len(part) != 2*s.c.Agents {
			return fmt.Errorf("%s: state of %d numbers, want %d", s.spec.ID, len(part), 2*s.c.Agents)
		}
	}
	copy(s.pos, position)
	copy(s.vel, velocity)
	copy(s.mark, landmark)
	s.steps, s.running = 0, true
	s.see(obs)
	return nil
}

// Bodies returns positions, velocities and landmarks, [agents, 2] each. They belong to the environment.
func (s *Spread) Bodies() (position, velocity, landmark []float64) { return s.pos, s.vel, s.mark }
