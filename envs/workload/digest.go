package workload

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
)

// TraceDigest is the SHA-256, in hexadecimal digits, of the traces that c reads: functions, invocations per minute,
// durations and memory, after functions and minutes are selected and before the split. It does not depend on where the
// files lie. It is empty where c reads no trace.
func TraceDigest(c Config) (string, error) {
	all := []*Config{&c}
	if n := len(c.Draw.Traces); n > 0 {
		all = all[:0]
		for i := range n {
			all = append(all, c.choose(i))
		}
	}
	h, some := sha256.New(), false
	for i, l := range all {
		t, err := l.openTrace()
		if err != nil {
			return "", err
		}
		if t == nil {
			continue
		}
		some = true
		fmt.Fprintf(h, "%d %d %d\n", i, t.Minutes, len(t.Functions))
		for j := range t.Functions {
			t.Functions[j].write(h)
		}
	}
	if !some {
		return "", nil
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// write writes a function's content into a hash, whose Write never fails.
func (f *Function) write(h hash.Hash) {
	d, m := &f.Duration, &f.Memory
	fmt.Fprintf(h, "%q %q %q %q %d %d\n", f.Owner, f.App, f.Name, f.Trigger, d.Samples, m.Samples)
	var b []byte
	for _, n := range f.Counts {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	for _, x := range []float64{d.Average, d.Minimum, d.Maximum, d.P0, d.P1, d.P25, d.P50, d.P75, d.P99, d.P100,
		m.Average, m.P1, m.P5, m.P25, m.P50, m.P75, m.P95, m.P99, m.P100} {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	_, _ = h.Write(b)
}
