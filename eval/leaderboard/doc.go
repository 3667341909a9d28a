// Package leaderboard ranks the arms of a sweep and draws the effect of each key.
//
// [Read] takes the values from the run folders' metrics.jsonl, so that a board can be made while a sweep is under way,
// after it, and by other metrics than the first. [Board.Write] leaves leaderboard.csv, leaderboard.json and, for every
// key that was varied, effects/KEY.png, .svg, .pdf and .csv; [Board.Text] is the table for a terminal.
//
// The values are those of evaluations during training. What they can't say is whether the best arm would be best
// again: it was chosen for them. Package eval compares policies that are trained with fresh seeds.
package leaderboard
