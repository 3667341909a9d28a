// Package tensors says how what a policy sees and does stands in the tensors of an inference request, and reads and
// writes them. The names and shapes are those of the exported ONNX model, so that one client can ask either:
//
//	observation  FP32 [B, agents, features]
//	active       BOOL [B, agents]            optional: all are present
//	mask         BOOL [B, agents, choices]   optional: all are legal
//	action       FP32 [B, agents, components]
//
// Where there are several kinds of agents, each name begins with the kind, as in shop.observation. A graph stands in
// node.KIND FP32 [n, features], edge.KIND.index INT64 [2, e] and edge.KIND.features FP32 [e, features]; then B is 1.
package tensors
