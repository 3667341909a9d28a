package nets

import "github.com/stoker-rl/stoker/rng"

// Weights is the part of a network that learns.
type Weights interface {
	Arch() Arch
	// Params is [groups, size]; see [Layout]. Forward only reads it.
	Params() Tensor
	// Grads has the shape of Params. Backward adds to it.
	Grads() Tensor
	// ZeroGrads clears Grads.
	ZeroGrads()
}

// GraphNet is a network of the architecture [Graph] on a device. Sizes differ from batch to batch, so it can't
// be recorded.
type GraphNet interface {
	Weights
	// NewWork returns the memory of one pass; it grows with the largest batch it has seen.
	NewWork() GraphWork
	// Forward embeds the nodes of a sealed batch, made for this architecture, which must stay unchanged until
	// Backward. drop, where not nil, draws what Dropout zeroes (see [DropoutMask]): in training; nil leaves all
	// as it is.
	Forward(w GraphWork, b *GraphBatch, drop *rng.Key)
	// Head runs a head on the last Forward's embeddings and returns [1, rows, out]: rows are the batch's nodes
	// of the head's kind, or its graphs. given holds for each kind in Given a row of the batch for each graph,
	// or −1 for none (zeros); extra is [graphs, Extra]. Both must stay unchanged until Backward. The result
	// belongs to the Work and stays until the head runs again or the next Forward; a head's last run counts for
	// Backward. Parameters must not change between Forward and Backward.
	Head(w GraphWork, head int, given [][]int32, extra []float32) Tensor
	// Backward adds to Grads by what the heads that have run since Forward hold in their GradOut.
	Backward(w GraphWork)
}

// GraphWork is the memory of one pass of a graph network.
type GraphWork interface {
	// GradOut is the loss's gradient w.r.t. the head's last result, of its shape, zero until set. It is nil where
	// the head hasn't run since Forward.
	GradOut(head int) Tensor
	// Embedding is x of the nodes of a kind after the last layer, [1, rows, hidden].
	Embedding(kind int) Tensor
	// Pooled is the graphs' vectors, [1, graphs, kinds·hidden].
	Pooled() Tensor
}

// DropoutMask writes what a layer's new x of a kind of node is multiplied by: 0 with probability rate, else
// 1/(1 − rate). dst is [rows, hidden]. Engines call it, so that all drop the same.
func DropoutMask(dst []float32, key rng.Key, layer, kind int, rate float64) {
	k, keep := key.With(uint64(layer)).With(uint64(kind)), float32(1/(1-rate))
	for i := range dst {
		dst[i] = 0
		if k.With(uint64(i)).Float64() >= rate {
			dst[i] = keep
		}
	}
}
