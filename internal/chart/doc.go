// Package chart draws the project's figures as PNG and SVG: panels in a grid with shared colours, a key above them that
// never covers data, and axes with few round numbers. It draws lines, bands, points and intervals with gonum/plot, and
// knows nothing of evaluation.
//
// Values that cannot be drawn (NaN, infinities, on a logarithmic axis also those that are not positive) are left out
// without an error, so that one missing value does not lose the figure.
package chart
