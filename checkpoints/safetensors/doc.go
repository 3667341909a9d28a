// Package safetensors reads and writes the safetensors format: named tensors behind one JSON header.
//
// A file is eight bytes of header length (little-endian), a JSON object that gives each tensor's type, shape and
// place, and the tensors' little-endian bytes without gaps. [Parse] is strict: what it accepts has no holes, no
// overlaps, no bytes left over, and shapes that agree with sizes. Four element types are known, those that
// Stoker's engines have: F32, F64, I64 and U8.
//
// Files written here are read by the format's own libraries. What a tensor means, and how a checkpoint is
// kept from harm, is package checkpoints.
package safetensors
