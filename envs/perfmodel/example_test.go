package perfmodel_test

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs/perfmodel"
)

// How long one request of resnet takes alone, and what the instance costs.
func ExampleFaaSConf() {
	law, err := perfmodel.FaaSConf("resnet")
	if err != nil {
		panic(err)
	}
	rates := perfmodel.Rates{CPU: 0.000173, Memory: 0.000012}
	for _, cpu := range []int{500, 1000, 2000} {
		fmt.Printf("%d mC: %.1f s, %.3f USD/h\n", cpu, law.Alone(float64(cpu)),
			rates.Hourly(cpu, 1024, 1))
	}
	// Output:
	// 500 mC: 5.5 s, 0.099 USD/h
	// 1000 mC: 2.4 s, 0.185 USD/h
	// 2000 mC: 1.3 s, 0.358 USD/h
}
