// Package search measures methods that search for one configuration while they serve, as FaaSConf's experiments do.
//
// A method gets the same few rows of a library to warm up with, then a number of windows (15), in each of which it
// deploys a configuration and sees what came of it. Its answer is the cheapest configuration that kept the thresholds,
// or none (X). That answer is the best of several noisy measurements and looks better than it is (the winner's curse),
// so it is measured again in fresh windows under other seeds. All methods face the same draws.
//
// [Run] takes any tuner, policy or planner. Not here: comparing policies over whole episodes (package eval), the
// methods themselves (agents/baselines/sizing, agents/online).
package search
