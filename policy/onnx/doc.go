// Package onnx writes trained policies as ONNX models (operators of version 18, format of version 10), which
// onnxruntime and others run without Stoker. [Write] takes all that it needs from a bundle: the policy's description,
// the weights, the spec, and for the sizing environments the ranges of their configuration.
//
// A model does what the policy does when a deterministic action is asked for: statistics of observations and their
// bounds, the network, the choice among what is legal or the action's bounds and rounding, and the platform's units.
//
//	vectors   observation [batch, agents, width]   active [batch, agents]   mask [batch, agents, choices], of choices
//	          before [batch, agents], of firm's policies: feature p95 of the window before
//	graphs    node.KIND [n, width]   edge.KIND.index [2, e]   edge.KIND.features [e, width]
//	          legal.COMPONENT: which of its choices are legal after each tuple of choices of the components before it
//	          count [graphs, kinds], which may be left out: several graphs are laid one after another in all the others
//	outputs   action [batch, agents, components]   scores [batch, agents, choices], or of graphs without the first two
//
// Where an environment has several kinds of agents, the names of vectors begin with KIND and a dot. Choices are whole
// numbers from 0, in float32 as everywhere. Scores are the network's, of each choice; of continuous actions they are
// the action as the environment takes it, before it is rounded and converted to the platform's units.
//
//	policy.go     from bundle to model; inputs, outputs; the networks and heads that a description of package actor
//	              names, whoever learned
//	firm.go       firm's rule around one
//	actions.go    choices by scores; bounds, rounding and units of continuous actions
//	graph.go      choices within graphs, one after another, and their networks
//	builder.go    operators, constants, and the networks over vectors
//	inputs.go     observations as inputs, for programs that run a model
//
// What is not here: running a model (package onnxtest does, for tests), other formats, and which policy is exported
// with what (packages bundle and export).
package onnx
