package gp

import (
	_ "embed"
	"math/bits"
	"strconv"
	"strings"
	"sync"

	"github.com/stoker-rl/stoker/rng"
)

// directions are the primitive polynomials and first direction numbers of dimensions 2 to 512.
//
//go:embed directions.txt
var directions string

// sobolBits is the number of binary digits of a point.
const sobolBits = 32

// table has the direction numbers of each dimension, the first digit highest.
var table = sync.OnceValue(func() [][sobolBits]uint32 {
	var first [sobolBits]uint32
	for k := range first {
		first[k] = 1 << (sobolBits - 1 - k)
	}
	out := [][sobolBits]uint32{first}
	for line := range strings.Lines(directions) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var numbers []uint32
		for _, word := range strings.Fields(line) {
			x, err := strconv.ParseUint(word, 10, 32)
			if err != nil {
				panic("gp: directions.txt: " + err.Error()) // embedded, and read whole by the tests
			}
			numbers = append(numbers, uint32(x))
		}
		out = append(out, expand(numbers[0], numbers[1:]))
	}
	return out
})

// expand continues a dimension's direction numbers by its polynomial (Joe and Kuo, 2008, eq. 3).
func expand(polynomial uint32, m []uint32) (v [sobolBits]uint32) {
	degree := bits.Len32(polynomial) - 1
	for k := range v {
		if k < degree {
			v[k] = m[k] << (sobolBits - 1 - k)
			continue
		}
		v[k] = v[k-degree] ^ v[k-degree]>>degree
		for i := 1; i < degree; i++ {
			if polynomial>>(degree-i)&1 == 1 {
				v[k] ^= v[k-i]
			}
		}
	}
	return v
}

// Scrambled returns n Sobol points (row-major) in (0, 1)^d, scrambled by a random lower triangular matrix and a shift
// in each dimension (Matoušek, 1998), which stream draws: each point is uniform by itself, and together they keep the
// sequence's evenness. Dimensions beyond [SobolDimensions] are plain draws.
func Scrambled(n, d int, stream *rng.Stream) []float64 {
	out := make([]float64, n*d)
	for j := range d {
		if j >= len(table()) {
			for i := range n {
				out[i*d+j] = stream.Open()
			}
			continue
		}
		var v [sobolBits]uint32
		var rows [sobolBits]uint32
		for k := range rows {
			// Row k mixes the digits before k, and keeps digit k.
			rows[k] = uint32(stream.Uint64()>>32)&^(1<<(sobolBits-k)-1) | 1<<(sobolBits-1-k)
		}
		for k, x := range table()[j] {
			for r, row := range rows {
				v[k] |= uint32(bits.OnesCount32(x&row)&1) << (sobolBits - 1 - r)
			}
		}
		x := uint32(stream.Uint64() >> 32)
		for i := range n {
			if i > 0 {
				x ^= v[bits.TrailingZeros32(uint32(i))]
			}
			out[i*d+j] = (float64(x) + 0.5) / (1 << sobolBits)
		}
	}
	return out
}
