// Package fuzzed finds the fuzz targets of every reader of external files (configurations, traces, checkpoints, saved
// states, policies) and fuzzes each for some minutes (make verify NAME=fuzz). It has only tests; the targets are in the
// packages of the readers.
package fuzzed
