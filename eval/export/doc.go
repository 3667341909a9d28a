// Package export makes the files by which a trained policy leaves the workbench: a bundle (package checkpoints/bundle),
// an ONNX model, and its weights alone as safetensors.
//
// [Collect] reads a run, a checkpoint or a policy of the zoo, finds its evaluation, plays that again to see what range
// each feature has, and puts all that a serving program needs into one value. [Files] turns it into files. The same
// checkpoint and evaluation give the same bytes.
//
// Not here: opening a bundle (package policy), and the ONNX model's form (policy/onnx).
package export
