// Package quantile predicts quantiles of delays from what is known of a request: StepConf's eq. 2.
//
// A [Model] is linear in the variables, their squares and their products, and is fitted by minimising the quantile
// loss, a linear program. [Solve] solves it by an interior-point method whose result carries a dual certificate, the
// greatest amount by which the loss may be above the least one. Several quantiles are predicted together and sorted,
// so that they never cross. [Window] predicts the next requests from the last ones, and moves the level it asks for so
// that the share of requests below the prediction is the one wanted although the law changes.
package quantile
