// Package profiles stands between measurements and models. [Fit] fits laws of execution time over memory to measured runs
// of functions: every law's error, the chosen one, what the papers' fit would have given, figures and CSV. [Replay] says
// how many runs a law needs, at the sizes that Parrotfish chooses and at even ones. [Check] predicts mean, percentiles and
// cost of a whole application and compares them with measured requests.
//
// The laws are in package memory, prices in package bill, graphs in package workflow; the command is stoker profile.
package profiles
