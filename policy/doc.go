// Package policy is what a program imports to be served by a trained policy: [Open] reads a bundle, [Policy.Decide]
// turns what is seen into what is done.
//
//	p, err := policy.Open("faasconf.stoker", policy.Options{})
//	seen, out := p.NewObservation(), p.NewAction()
//	// fill seen, by the face of the environment
//	decision, err := p.Decide(ctx, seen, out)
//
// A policy serves many goroutines at once and decides without allocating. Its forward pass is that of training on the
// CPU (nets/native). A guard looks at every observation and every action: a feature far outside what the evaluation
// met, a number that is not finite, an observation that is too old, or an action that is not legal goes to the bundle's
// fallback, a rule; [Decision] says who decided and why, and [Policy.Counts] counts. In shadow mode the policy decides
// and is counted, and the fallback acts.
//
// The package depends on the standard library, golang.org/x/sys and gonum alone, and needs no cgo.
//
// Not here: bundles themselves (checkpoints/bundle), how they are made from a run (eval/export), ONNX (policy/onnx),
// and a server (serving).
package policy
