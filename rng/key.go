package rng

import (
	"math/bits"

	"github.com/stoker-rl/stoker/rng/portable"
)

// Key names a family of independent draws. The zero Key is valid but has no name; start with [New].
type Key struct{ a, b uint64 }

// New returns the key of a purpose under a seed, for example New(7, "arrivals").
func New(seed uint64, purpose string) Key {
	// FNV-1a over the purpose; the mixing below removes its weaknesses.
	h := uint64(14695981039346656037)
	for i := 0; i < len(purpose); i++ {
		h = (h ^ uint64(purpose[i])) * 1099511628211
	}
	return Key{mix(seed, 0x9e3779b97f4a7c15), mix(h, 0xd1b54a32d192ed03)}
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood, 2014) over x offset by c.
func mix(x, c uint64) uint64 {
	x += c
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// With returns the key of one coordinate below k: a user, a request, a function, an attempt. Coordinates
// chain, and their order matters: k.With(1).With(2) and k.With(2).With(1) are unrelated.
func (k Key) With(i uint64) Key {
	hi, lo := bits.Mul64(k.a^mix(i, 0xa0761d6478bd642f), k.b|1)
	return Key{mix(hi^k.b, lo), mix(lo^k.a, i^0xe7037ed1a0b428db)}
}

// Uint64 returns the key's number: uniform over 64 bits, the same at every call.
func (k Key) Uint64() uint64 {
	hi, lo := bits.Mul64(k.a^0x8ebc6af09c88c6e3, k.b^0x589965cc75374cc3)
	return mix(hi^lo, k.a)
}

// Float64 returns the key's number in [0, 1).
func (k Key) Float64() float64 { return float64(k.Uint64()>>11) * 0x1p-53 }

// Open returns the key's number in (0, 1): safe under a logarithm.
func (k Key) Open() float64 { return (float64(k.Uint64()>>12) + 0.5) * 0x1p-52 }

// IntN returns the key's number in [0, n). n must be positive.
func (k Key) IntN(n int) int {
	hi, _ := bits.Mul64(k.Uint64(), uint64(n))
	return int(hi)
}

// Exp returns the key's number from the exponential law of mean 1.
func (k Key) Exp() float64 { return -portable.Log(k.Open()) }

// Norm returns the key's number from the standard normal law, by inversion.
func (k Key) Norm() float64 { return portable.NormQuantile(k.Open()) }

// Stream returns a stream that starts at the key.
func (k Key) Stream() *Stream { return &Stream{key: k} }
