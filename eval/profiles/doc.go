// Package profiles fits laws of execution time over memory to measured runs of functions, and reports them: every law's
// error, the chosen one, what the papers' fit would have given, figures and CSV.
//
// The laws are in package memory; the command is stoker profile.
package profiles
