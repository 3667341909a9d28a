// Package sizing holds the baselines of stoker/Sizing: [Fixed] holds one configuration,
// [Autoscaler] is Kubernetes' threshold autoscaler, [RandomSearch], [RAMBO] and [Aquatope] try fifteen configurations and
// keep the best (at random, or where a Gaussian process expects most), and [Oracle] plans several windows ahead on
// copies of the environment, either with what will come or, as the forecast, with the law of it.
//
// Not here: the environment (envs/sizing).
package sizing
