package checkpoints

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/durable/durabletest"
	"github.com/stoker-rl/stoker/checkpoints/safetensors"
	"github.com/stoker-rl/stoker/internal/must"
)

// small writes a small checkpoint to a disk in memory and returns the disk, the folder and the manifest's text.
func small(tb testing.TB) (*durabletest.Disk, string, []byte) {
	tb.Helper()
	d := durabletest.New()
	w, err := Create(d, "/c", Header{Kind: Full, CreatedBy: "t", Kernels: "k",
		Config: json.RawMessage(`{"a":[1,2.50,"<"]}`), Counters: map[string]int64{"steps": 3},
		Random: map[string][]byte{"x": {1}}})
	must.Do(tb, err)
	must.Do(tb, w.Tensors(WeightsFile, nil, safetensors.Of("w", []float32{1, 2}, 2)))
	err = w.Replay("r", Replay{RowBytes: 2, Total: 9, Capacity: 5, SegmentRows: 3,
		Append: func(dst []byte, first int64, n int) ([]byte, error) {
			return append(dst, make([]byte, 2*n)...), nil
		}})
	must.Do(tb, err)
	if _, err := w.Commit(); err != nil {
		tb.Fatal(err)
	}
	text, err := durable.ReadFile(d, "/c/"+ManifestFile, 1<<20)
	must.Do(tb, err)
	return d, "/c", text
}

func FuzzManifest(f *testing.F) {
	_, _, text := small(f)
	f.Add(text)
	f.Add(bytes.Replace(text, []byte(`"total": 9`), []byte(`"total": 9223372036854775807`), 1))
	f.Add([]byte(`{"format":"stoker-checkpoint","version":2}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeManifest(b)
		if err != nil {
			return
		}
		again, err := m.encode()
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("accepted, but written again it is %q, %v", again, err)
		}
	})
}

func FuzzSums(f *testing.F) {
	f.Add(encodeSums(map[string]string{"a.bin": hashOf(nil), ManifestFile: hashOf([]byte("x"))}))
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		sums, err := decodeSums(b)
		if err == nil && (!bytes.Equal(encodeSums(sums), b) || len(sums) == 0) {
			t.Fatalf("accepted, but written again it is %q", encodeSums(sums))
		}
	})
}

func FuzzSegment(f *testing.F) {
	s := segment{first: 4, rows: 2}
	var b bytes.Buffer
	must.Do(f, s.write(&b, Replay{RowBytes: 3, Append: func(dst []byte, _ int64, n int) ([]byte,
		error) {
		return append(dst, "abcdef"[:3*n]...), nil
	}}))
	f.Add(b.Bytes(), 3, int64(4), int64(2))
	f.Fuzz(func(t *testing.T, b []byte, rowBytes int, first, rows int64) {
		info := ReplayInfo{RowBytes: rowBytes, Total: first + rows, Capacity: rows, SegmentRows: max(1, rows)}
		if rowBytes > 1<<16 || rows < 1 || rows > 1<<16 || first < 0 || info.validate() != nil {
			return
		}
		s := segment{first, rows}
		n := int64(0)
		err := s.read(bytes.NewReader(b), rowBytes, func(int64, []byte) error { n++; return nil })
		if err == nil && (n != rows || int64(len(b)) != s.bytes(rowBytes)) {
			t.Fatalf("%d bytes with %d rows read as %+v", len(b), n, s)
		}
	})
}

// FuzzOpen puts any manifest and any file into a checkpoint whose MANIFEST.sha256 agrees with them.
func FuzzOpen(f *testing.F) {
	disk, dir, text := small(f)
	weights := must.Get(durable.ReadFile(disk, filepath.Join(dir, WeightsFile), 1<<20))(f)
	f.Add(text, weights)
	f.Add(bytes.Replace(text, []byte(`"segment_rows": 3`), []byte(`"segment_rows": 9223372036854775807`), 1), weights)
	f.Fuzz(func(t *testing.T, manifest, weights []byte) {
		d := disk.Clone()
		sums := must.Get(durable.ReadFile(d, filepath.Join(dir, SumsFile), 1<<20))(t)
		lines := strings.Split(string(sums), "\n")
		for i, line := range lines {
			switch {
			case strings.HasSuffix(line, "  "+ManifestFile):
				lines[i] = hashOf(manifest) + "  " + ManifestFile
			case strings.HasSuffix(line, "  "+WeightsFile):
				lines[i] = hashOf(weights) + "  " + WeightsFile
			}
		}
		must.Do(t, errors.Join(
			d.Set(filepath.Join(dir, ManifestFile), manifest),
			d.Set(filepath.Join(dir, WeightsFile), weights),
			d.Set(filepath.Join(dir, SumsFile), []byte(strings.Join(lines, "\n"))),
		))
		r, err := CheckFS(d, dir)
		if r == nil || (err == nil) != r.OK {
			t.Fatalf("%v with the report\n%v", err, r)
		}
		if _, err := OpenFS(d, dir); err != nil && r.OK {
			t.Fatalf("refused, but the report is good: %v\n%v", err, r)
		}
	})
}
