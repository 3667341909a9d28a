package remote

import (
	"encoding/binary"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// BenchmarkStep steps 256 copies without pipes.
func BenchmarkStep(b *testing.B) {
	c, err := newCopies(cartPole, Options{Copies: 256})
	if err != nil {
		b.Fatal(err)
	}
	body := make([]byte, 256)
	for i := range body {
		body[i] = Begin
	}
	body = must.Get(binary.Append(body, binary.NativeEndian, make([]uint64, 256)))(b)
	body = must.Get(binary.Append(body, binary.NativeEndian, make([]float32, 256)))(b)
	var dst []byte
	for b.Loop() {
		if dst, err = c.step(append(dst[:0], make([]byte, header)...), body); err != nil {
			b.Fatal(err)
		}
		for i := range body[:256] {
			body[i] = Advance
			if c.terminated[i] || c.truncated[i] {
				body[i] = Begin
			}
		}
	}
	b.ReportMetric(float64(256*b.N)/b.Elapsed().Seconds(), "steps/s")
}
