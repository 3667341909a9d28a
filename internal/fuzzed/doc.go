// Package fuzzed lists the fuzz targets of every reader of external files (configurations, traces, checkpoints, saved
// states, policies), checks that the list is complete, and fuzzes each target for some minutes (make verify NAME=fuzz).
// It has only tests; the targets are in the packages of the readers.
package fuzzed
