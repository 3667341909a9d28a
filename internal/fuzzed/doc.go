// Package fuzzed goes over everything that reads what others wrote (configurations, traces, checkpoints, saved states,
// policies) and fuzzes each reader for some minutes. There is nothing here to call: the targets stand beside the
// readers, this package lists them, makes sure that the list is whole, and runs them one after another (make verify
// NAME=fuzz).
package fuzzed
