// Package sizing holds the baselines of stoker/Sizing, one in each file: [Fixed] holds one configuration,
// [Autoscaler] is Kubernetes' threshold autoscaler, [RandomSearch], [RAMBO] and [Aquatope] try fifteen configurations and
// keep the best (at random, or where a Gaussian process expects most), and [Oracle] searches for each window's
// configuration on a noise-free copy of the environment.
//
// Not here: the environment (envs/sizing).
package sizing
