// Package state copies, saves, loads and fingerprints values that list their fields once.
//
// A type that holds state implements [Stater]: its method State lists the fields in a fixed order.
//
//	func (w *world) State(c *state.Codec) {
//		c.Same("configuration", w.fingerprint) // another one is refused
//		state.Value(c, &w.seed)                // plain data: numbers, truth values, arrays and structs of them
//		state.Slice(c, &w.jobs)                // a slice of plain data; its length travels
//		state.Fixed(c, w.prices)               // a slice whose length the configuration sets
//		state.Value(c, w.noise)                // an *rng.Stream is plain data too
//		c.Part(w.graph)                        // a part that is a Stater itself
//		state.Parts(c, &w.gates)               // a slice of such parts; its length travels
//		state.Member(c, w.policy)              // a part known by an interface with CopyFrom, AppendBinary, UnmarshalBinary
//		if c.Loaded() {
//			c.Fail(w.check()) // the invariants, once, with every field in place
//		}
//		if c.Filled() {
//			w.derive() // what follows from the fields and is not listed
//		}
//	}
//
// [Copy], [Append], [Load] and [Fingerprint] follow from that list. What is there only at times needs no function of
// its own: list the flag or number first, then branch or loop on it. The list of a source is walked without changing
// it, so one source may be copied by several goroutines at once.
//
// A saved state has a header (the kind of state, the version of this format, the length), the fields, and a CRC-32C
// over all. Numbers are little-endian and int takes eight bytes, so the bytes are the same on every architecture. Parts
// have neither header nor checksum of their own. Equal states give equal bytes.
//
// A type that embeds a Stater and has fields of its own must have a method State of its own, or the embedded one's is
// taken for its whole state.
//
// What an environment, policy or learner keeps, and which of it is state, is theirs; so are files (package
// checkpoints).
package state
