// Package gnn is the suites of the paper on graph networks (Zhang, Learning-based dynamic resource allocation for
// serverless computing with graph neural networks):
//
//	gnn-fig1        seconds of a training step and of an inference over the number of edges
//	gnn-fig3        mean slowdown over the load on DeepRM's cluster, and every quantity of its prose on the cluster of unlike nodes
//	gnn-generalise  the trained policy on workloads, systems and loads that it was not trained on, and transfer
//
// The rules play with the constants of their packages, policies that were trained come from package zoo and play in
// what they were trained for, as far as it is theirs to choose: whether they may wait, how many invocations they see.
// One that is not there is said to be missing. The paper's own environment is not published, and its figures
// contradict each other in places; what can be held against them is docs/gnn.md.
//
// players.go and learned.go have who plays, field.go in what; deeprm.go and nodes.go are the two halves of gnn-fig3,
// deeprmclaims.go and nodesclaims.go what became of the paper's statements; generalise.go, transfer.go and fig1.go
// are the others.
package gnn
