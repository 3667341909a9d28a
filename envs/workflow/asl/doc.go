// Package asl reads state machines of AWS Step Functions, written in the Amazon States Language, as workflows.
//
// [Read] reads the states, [Machine.Workflow] makes a graph of them. States that do nothing but lead on (Pass, Choice,
// Parallel, Map) become edges wherever edges can say the same, so that the graph's nodes are the functions; where they
// cannot, such as a choice that is the first state of a parallel branch, the state stays as a node that takes no time.
// How likely a choice's rules are is not in the file: it comes from [Facts], or, for machines whose choices compare a
// number that is drawn evenly from 0 to 100, from the rules' thresholds ([Options.Percent]).
package asl
