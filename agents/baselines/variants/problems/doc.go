// Package problems draws optimisation problems whose best answers are known, and tells how near heuristics come to them:
// OptiServe's 1,500 problems over six applications (section 5.4), which were not published.
package problems
