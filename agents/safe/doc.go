// Package safe is FaaSConf's safe exploration strategy (SES, §4.3, eq. 10): a configuration whose price lies outside the
// range of past good ones is replaced by a good one with noise.
//
// A [Guard] remembers feasible configurations. For each class of loads it has a [Band]: mean ± N standard deviations of
// the prices of the cheapest fifth of the feasible ones (the set τ). A load without a band of its own has that of the
// nearest load. After a number of violations a band is made again from the latest history. Bands are kept as JSON.
//
// Not here: who proposes configurations (packages maddpg and online).
package safe
