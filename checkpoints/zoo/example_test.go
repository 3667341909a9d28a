package zoo_test

import (
	"fmt"

	"github.com/stoker-rl/stoker/checkpoints/zoo"
)

func ExampleOpen() {
	c, err := zoo.Open("hops-scheduler")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Dir(), c.Header().Kind)
	_, err = zoo.Open("nobody's")
	fmt.Println(err != nil)
	// Output:
	// zoo:hops-scheduler policy
	// true
}

func ExampleReadCard() {
	c, err := zoo.ReadCard("hops-scheduler")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Env, c.Agent)
	// Output: stoker/PricingSlots-v1 dqn
}
