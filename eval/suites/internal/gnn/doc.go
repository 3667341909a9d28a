// Package gnn is the suites of the paper on graph networks (Zhang, Learning-based dynamic resource allocation for
// serverless computing with graph neural networks):
//
//	gnn-fig1        seconds of a training step and of an inference over the number of edges
//	gnn-fig3        mean slowdown over the load on DeepRM's cluster, and the quantities of the paper's prose on the
//	                cluster of unlike nodes
//	gnn-generalise  the trained policy on workloads, systems and loads that it was not trained on, and transfer
//
// Rules play with the constants of their packages. Trained policies come from package zoo and keep what is theirs to
// choose, as in their training: whether they may wait, how many invocations they see. A note says which one is missing.
// The paper's own environment is not published, and its figures contradict each other in places: docs/gnn.md says what
// can be compared.
//
// learned.go lists the policies, field.go where they play; deeprm.go and nodes.go are the two halves of gnn-fig3 with the
// paper's claims about them; generalise.go, transfer.go and fig1.go are the others.
package gnn
