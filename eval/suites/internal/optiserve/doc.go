// Package optiserve is the suite of OptiServe (cost-, latency- and accuracy-tuned serverless ML workflows) and of PRCP,
// on which it stands: how near the heuristics come to the exact optimum (Fig. 5.5), what trade-offs the applications have
// (Fig. 5.6), and, with --data, the measured functions (Figs. 3.1, 5.1) and PRCP's published curves.
//
// Of OptiServe's six applications one is published. The others are this project's: their seconds and USD are not the
// paper's.
//
// fig55.go judges the heuristics on drawn problems, weights.go varies eq. 4.7 and the laws, fig56.go draws the
// trade-offs, data.go is what needs published files, suite.go holds the papers' statements against all.
package optiserve
