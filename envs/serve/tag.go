package serve

// A tag identifies the visit that a simulated request belongs to: run, node, number of the visit, use of the run.
const (
	runBits    = 24
	nodeBits   = 12
	numberBits = 8
	useMask    = 1<<(64-runBits-nodeBits-numberBits) - 1
)

func tagOf(run, node, number int32, use uint32) uint64 {
	return uint64(use)&useMask<<(runBits+nodeBits+numberBits) | uint64(number)&(1<<numberBits-1)<<(runBits+nodeBits) |
		uint64(node)<<runBits | uint64(run)
}

func untag(t uint64) (run, node, number int32, use uint32) {
	return int32(t & (1<<runBits - 1)), int32(t >> runBits & (1<<nodeBits - 1)),
		int32(t >> (runBits + nodeBits) & (1<<numberBits - 1)), uint32(t >> (runBits + nodeBits + numberBits))
}
