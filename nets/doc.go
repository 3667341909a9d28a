// Package nets describes networks, losses and optimisers, and the contract of the engines that run them.
//
// A network is an [Arch]: a small value that says what goes in, what comes out and which parameters lie
// between. An [Engine] builds it for a device. Learners write their updates against this package alone, in
// the order in which the papers print them:
//
//	a2 := actorTarget.Forward(wa, s2)                   // µ'(s')
//	q2 := criticTarget.Forward(wq, s2, a2)              // Q'(s', µ'(s'))
//	e.TDTarget(y, r, discount, q2)                      // y = r + γQ'
//	q := critic.Forward(wc, s, a)
//	e.Loss(nets.SquaredError{}, value, dq, q, y)
//	critic.ZeroGrads()
//	critic.Backward(wc, dq, nets.Params)
//	criticAdam.Step()
//
// Tensors of stacked agents are [agents, batch, features]. The parameters of a net are one tensor of
// [groups, size] (a group per agent, or one shared by all), its gradients another, so that clipping, Adam, soft
// targets, hashing and saving work on one vector; [Layout] says where each parameter lies in a group.
//
// Operations do not return errors one by one: as with a bufio.Writer the first failure sticks, later
// operations do nothing, and [Engine.Err] or [Recorded.Run] reports it with the operation and the shapes.
//
// Arithmetic is not here: engines are in native, torch and gorgonia below this folder, and the table of them in
// engines.
package nets
