package stepconf

import (
	"fmt"

	rules "github.com/stoker-rl/stoker/agents/baselines/steps"
	"github.com/stoker-rl/stoker/envs/steps"
)

// decider is a way to decide.
type decider struct {
	name string
	new  func() (steps.Decider, error)
}

// fixed are the numbers of instances of what does not choose them: the paper does not say how many there are. Rows and
// claims are of the first.
var fixed = []int{16, 8, 4}

// everyone has all deciders of the paper: StepConf first, then those that do not choose the instances, for each number.
func everyone() []decider {
	all := []decider{
		{"StepConf", func() (steps.Decider, error) { return rules.NewStepConf(rules.DefaultStepConf()) }},
		{"StepConf-Inter", func() (steps.Decider, error) { return rules.NewStepConf(rules.DefaultInter()) }},
		{"Oracle", func() (steps.Decider, error) { return rules.NewOracle(rules.DefaultOracle()) }},
		{"replan", func() (steps.Decider, error) { return rules.NewReplan(rules.DefaultReplan()) }},
	}
	for _, p := range fixed {
		all = append(all,
			decider{named("Vanilla", p), func() (steps.Decider, error) {
				c := rules.DefaultVanilla()
				c.Instances = p
				return rules.NewVanilla(c)
			}},
			decider{named("Orion", p), func() (steps.Decider, error) {
				c := rules.DefaultOrion()
				c.Instances = p
				return rules.NewOrion(c)
			}},
			decider{named("COSE", p), func() (steps.Decider, error) {
				c := rules.DefaultCOSE()
				c.Instances = p
				return rules.NewCOSE(c)
			}},
			decider{named("StepConf-Intra", p), func() (steps.Decider, error) {
				c := rules.DefaultIntra()
				c.Instances = p
				return rules.NewStepConf(c)
			}})
	}
	return all
}

// named is a decider's name with its number of instances.
func named(name string, instances int) string { return fmt.Sprintf("%s, p = %d", name, instances) }

// find is the place of a decider in everyone.
func find(all []decider, name string) int {
	for i, d := range all {
		if d.name == name {
			return i
		}
	}
	return -1
}
