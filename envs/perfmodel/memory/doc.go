// Package memory has laws of a function's execution time over its memory size, and fits them to measurements.
//
// On platforms that give CPU in proportion to memory, the memory size is what a configuration chooses. A [Law] gives
// the mean execution time in seconds for a size in MB. The forms are OptiServe's exponential (its eq. 3.1), StepConf's
// two cases (its eq. 1), the inverse with a knee, and the measured table itself. [Fit] fits one form by least squares
// of relative errors, or of plain ones as the papers do; [Choose] fits all and takes the one that predicts left-out
// sizes best, and reports every one. [Read] reads measurements from a CSV file, [Parrotfish] chooses which sizes to
// measure.
//
// What a run costs is in package bill, the distribution of delays in package quantile. Sizing's laws over CPU limits,
// with requests that share an instance, are in package perfmodel.
package memory
