// Package fit finds the numbers of a rival by cross-entropy search on the training part of a workload, so that a learned
// policy is compared with rules that had a search of their own ("the best simple rule that search finds").
//
// Candidates of a generation play the same episodes. Their score is the mean return, so a configuration's reward says
// what the search is after: with a larger env.reward.qos it finds a rule that keeps more windows. Episodes have workload
// seeds 1 to 4,000; what was found is measured on seeds 4,001 on. The result does not depend on the number of workers.
//
// Not here: the method (agents/crossentropy), and what a rival's numbers are (its Space in the catalog).
package fit
