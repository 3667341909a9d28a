// Package chart draws figures in one manner: panels in a grid with shared colours, a key above them that never covers
// data, axes with few round numbers, PNG and SVG alike. It knows lines, bands, points and intervals, and nothing of
// evaluation; it stands on gonum/plot.
//
// What cannot be drawn (NaN, an infinity, on a logarithmic axis what is not positive) is left out, never an error:
// one missing value must not cost the figure.
package chart
