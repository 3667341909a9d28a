package checkpoints_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/safetensors"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(killVar); dir != "" {
		os.Exit(saveAndDie(dir))
	}
	os.Exit(m.Run())
}

// The run that these tests save. Its whole content is a function of the number of steps.
const (
	rowBytes    = 6
	rowsPerStep = 7
	capacity    = 20
	segmentRows = 8
	keep        = 2
)

func row(i int64) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(i)*2654435761)
	return append(b, byte(i), 0xaa)
}

func header(kind checkpoints.Kind, steps int64) checkpoints.Header {
	h := checkpoints.Header{
		Kind:      kind,
		CreatedBy: "stoker test",
		Kernels:   "native/go",
		Config:    json.RawMessage(`{"train":{"steps":100,"text":"<&>"}}`),
		Counters:  map[string]int64{"steps": steps, "updates": 3 * steps},
	}
	if kind == checkpoints.Full {
		h.Random = map[string][]byte{"exploration": {1, 2, byte(steps)}}
	}
	return h
}

func weights(steps int64) []float32 { return []float32{float32(steps), 2, 3, 4} }

// fill writes the run's files into w.
func fill(w *checkpoints.Writer, steps int64) error {
	return errors.Join(
		w.Tensors(checkpoints.WeightsFile, map[string]string{"arch": "mlp"}, safetensors.Of("w", weights(steps), 2, 2)),
		w.Tensors(checkpoints.OptimiserFile, nil, safetensors.Of("m", weights(-steps), 4)),
		w.Blob(checkpoints.EnvsFile, fmt.Appendf(nil, "environment after %d steps", steps)),
		w.Replay("replay", checkpoints.Replay{
			RowBytes: rowBytes, Total: rowsPerStep * steps, Capacity: capacity, SegmentRows: segmentRows,
			Append: func(dst []byte, first int64, n int) ([]byte, error) {
				for i := range int64(n) {
					if first+i < rowsPerStep*steps-capacity || first+i >= rowsPerStep*steps {
						return nil, fmt.Errorf("row %d is not in memory", first+i)
					}
					dst = append(dst, row(first+i)...)
				}
				return dst, nil
			},
		}),
	)
}

// save takes a checkpoint as train does: write, commit, publish.
func save(s *checkpoints.Store, steps int64, best bool) error {
	w, err := s.Create(checkpoints.StepName(steps), header(checkpoints.Full, steps))
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := fill(w, steps); err != nil {
		return err
	}
	c, err := w.Commit()
	if err != nil {
		return err
	}
	return s.Publish(c, best, keep)
}

const storeDir = "/runs/a/checkpoints"

// openStore opens the store and continues from its latest checkpoint, as resume does.
func openStore(fsys durable.FS, dir string) (*checkpoints.Store, error) {
	s, err := checkpoints.OpenStore(fsys, dir)
	if err != nil {
		return nil, err
	}
	at, err := checkpoints.ReadPointer(fsys, dir, checkpoints.Latest)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil // none yet
	}
	if err != nil {
		return nil, err
	}
	c, err := checkpoints.OpenFS(fsys, at)
	if err != nil {
		return nil, err
	}
	s.Continue(c)
	return s, nil
}

// expect checks that dir is the complete checkpoint of so many steps.
func expect(fsys durable.FS, dir string) (steps int64, err error) {
	c, err := checkpoints.OpenFS(fsys, dir)
	if err != nil {
		return 0, err
	}
	steps = c.Header().Counters["steps"]
	if c.Name() != checkpoints.StepName(steps) {
		return steps, fmt.Errorf("%s holds step %d", c.Name(), steps)
	}
	f, err := c.Tensors(checkpoints.WeightsFile)
	if err != nil {
		return steps, err
	}
	w, err := f.Tensor("w")
	if err != nil {
		return steps, err
	}
	v, err := safetensors.Values[float32](w)
	if err != nil {
		return steps, err
	}
	if fmt.Sprint(v) != fmt.Sprint(weights(steps)) {
		return steps, fmt.Errorf("weights are %v", v)
	}
	envs, err := c.Read(checkpoints.EnvsFile)
	if err != nil {
		return steps, err
	}
	if string(envs) != fmt.Sprintf("environment after %d steps", steps) {
		return steps, fmt.Errorf("environments are %q", envs)
	}
	total := rowsPerStep * steps
	next := max(0, total-capacity)
	err = c.ReplayRows("replay", func(i int64, r []byte) error {
		if i != next || string(r) != string(row(i)) {
			return fmt.Errorf("row %d is %x, want row %d, %x", i, r, next, row(next))
		}
		next++
		return nil
	})
	if err == nil && next != total {
		err = fmt.Errorf("replay ends at row %d, want %d", next, total)
	}
	return steps, err
}
