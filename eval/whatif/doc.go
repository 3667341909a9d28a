// Package whatif answers what a serverless application would cost, take and be worth under other memory sizes and model
// variants: the best configuration under constraints as a table with a split of its cost, and the exact trade-offs
// between time, cost and accuracy as CSV and figure.
//
// The answers are package variants', the command is stoker whatif.
package whatif
