package checkpoints_test

import (
	"encoding/binary"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/safetensors"
	"github.com/stoker-rl/stoker/internal/must"
)

// benchSave saves half a million weights and a replay of 100,000 rows of 256 bytes, of which 1,000 are new.
func benchSave(b *testing.B, s *checkpoints.Store, step int64) *checkpoints.Checkpoint {
	b.Helper()
	w, err := s.Create(checkpoints.StepName(step), header(checkpoints.Full, step))
	must.Do(b, err)
	defer w.Abort()
	params := make([]float32, 500_000)
	must.Do(b, w.Tensors(checkpoints.WeightsFile, nil, safetensors.Of("w", params, len(params))))
	err = w.Replay("replay", checkpoints.Replay{RowBytes: 256, Total: 100_000 + 1000*step, Capacity: 100_000,
		Append: func(dst []byte, first int64, n int) ([]byte, error) {
			for i := range n {
				at := len(dst)
				dst = append(dst, make([]byte, 256)...)
				binary.LittleEndian.PutUint64(dst[at:], uint64(first)+uint64(i))
			}
			return dst, nil
		}})
	must.Do(b, err)
	c, err := w.Commit()
	must.Do(b, err)
	must.Do(b, s.Publish(c, false, 2))
	return c
}

func BenchmarkSave(b *testing.B) {
	s := must.Get(checkpoints.OpenStore(durable.OS{}, b.TempDir()))(b)
	b.ReportAllocs()
	step := int64(0)
	for b.Loop() {
		step++
		benchSave(b, s, step)
	}
}

func BenchmarkOpen(b *testing.B) {
	s := must.Get(checkpoints.OpenStore(durable.OS{}, b.TempDir()))(b)
	c := benchSave(b, s, 1)
	size := int64(0)
	for _, f := range c.Files() {
		size += f.Bytes
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		must.Get(checkpoints.Open(c.Dir()))(b)
	}
}
