// Package safetensors reads and writes the safetensors format: named tensors after one JSON header.
//
// A file is eight bytes of header length (little-endian), a JSON object with each tensor's type, shape and offsets, and
// the tensors' little-endian bytes without gaps. [Parse] is strict: it refuses gaps, overlaps, bytes after the last
// tensor, and shapes that do not agree with sizes. It knows the four element types of Stoker's engines: F32, F64, I64
// and U8.
//
// The format's own libraries read files written here. The meaning of a tensor, and crash-safe storage of checkpoints,
// are package checkpoints.
package safetensors
