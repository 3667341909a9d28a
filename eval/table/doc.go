// Package table writes numbers and tables: to a terminal, as Markdown and as CSV.
//
// Every number of an evaluation and of a suite passes through here, so that both show the same digits: an interval's
// width to two figures, a value without an interval to four. [Estimate] writes itself inside a sentence; [Format]
// writes the numbers of one table alike, with the same decimals and in the same power of a thousand.
//
// What the numbers mean is package eval, how they are computed is package stats, and charts are package chart.
package table
