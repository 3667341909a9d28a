package faasconf

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs/sizing"
)

// tunedLearner is a method that learns from the libraries, with what its tuning gave. All had the same budget: six
// trainings from 3,000 rows of Parallel (seed 4001), 6,000 updates each, agent.logit_penalty of 0.2, 0.4 and 0.8 times
// agent.critic_rate of 1e-4 and 1e-3, ranked by return in 20 episodes. docs/faasconf.md has the table.
type tunedLearner struct {
	config, decide, name string
	tuned                []string
	only                 []string // the applications in which the paper has it; empty is all
	saving               float64
	// safely says that it serves with safe exploration; bold adds the same without.
	safely, bold bool
}

var tunedLearners = []tunedLearner{
	{config: "attmf", name: oursName, safely: true, bold: true, tuned: settings(0.9, 1e-4, 0.4, 1e-3)},
	{config: "firm", decide: sizing.Hardware, name: firmName, saving: paperFirm, tuned: settings(0.95, 1e-3, 0.4, 1e-4)},
	{config: "firm", decide: sizing.Hybrid, name: firmName + withLimit, tuned: settings(0.95, 1e-3, 0.4, 1e-3),
		only: []string{sizing.Sequential, sizing.Parallel}},
	{config: "mf", name: mfName, only: machineLearn, tuned: settings(0.9, 1e-4, 0.4, 1e-3)},
	{config: "maddpg", name: maddpgName, only: machineLearn, tuned: settings(0.5, 3e-4, 0.2, 1e-4)},
	{config: "ddpg", name: ddpgName, only: machineLearn, tuned: settings(0.5, 1e-3, 0.4, 1e-4)},
}

// settings are those under which a learner was tuned, discount and rate of the actor, and what was best.
func settings(gamma, actor, penalty, critic float64) []string {
	return []string{
		fmt.Sprintf("agent.gamma=%g", gamma), fmt.Sprintf("agent.actor_rate=%g", actor),
		fmt.Sprintf("agent.logit_penalty=%g", penalty), fmt.Sprintf("agent.critic_rate=%g", critic),
	}
}
