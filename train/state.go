package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/replay"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/safetensors"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/configs"
)

// Files of a run's checkpoints beside those that package checkpoints names. Weights hold the policy, in the form in
// which it is exported; the learner's own arrays are beside them.
const (
	policyFile       = "policy.json"
	learnerArrays    = "learner.safetensors"
	learnerStateFile = "learner.json"
	loopFile         = "loop.json"
	replayName       = "replay"
)

// loopState is what the loop itself must know to go on.
type loopState struct {
	Steps    int64 `json:"steps"`
	Episodes int64 `json:"episodes"`
	// RoundSteps is the number of steps of the last round, 0 where the learner does not learn in rounds.
	RoundSteps int64 `json:"round_steps,omitempty"`
	// Window is the last episodes, oldest first.
	Window []episode `json:"window"`
	// Best is the best evaluation so far and the checkpoint that it decided; Value is nil before the first.
	Best struct {
		Value      *float64 `json:"value"`
		Steps      int64    `json:"steps"`
		Checkpoint string   `json:"checkpoint"`
	} `json:"best"`
	// Interrupted says that the run was stopped in the evaluation due after Steps, which is then the next thing to do.
	Interrupted bool `json:"interrupted,omitempty"`
	// MetricsOffset is the length of metrics.jsonl at the checkpoint.
	MetricsOffset int64 `json:"metrics_offset"`
}

// real is a number that JSON can hold whatever it is: what is not finite becomes a string.
type real float64

// MarshalJSON writes a number, or "NaN", "+Inf" or "-Inf".
func (x real) MarshalJSON() ([]byte, error) {
	if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.AppendQuote(nil, strconv.FormatFloat(f, 'g', -1, 64)), nil
	}
	return json.Marshal(float64(x))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (x *real) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*x = real(f)
	return err
}

// learnerState is agents.State without its arrays.
type learnerState struct {
	Blobs    map[string][]byte `json:"blobs"`
	Counters map[string]int64  `json:"counters"`
}

// policyHeader is agents.PolicyFile without its arrays.
type policyHeader struct {
	Agent       string          `json:"agent"`
	EnvID       string          `json:"env_id"`
	Description json.RawMessage `json:"description"`
}

// save writes a checkpoint of everything; best marks it as the best so far.
func (r *run) save(best bool) error {
	checksum := uint32(0)
	if r.log != nil { // there is none before the first step
		if err := r.log.sync(); err != nil {
			return err
		}
		r.state.MetricsOffset, checksum = r.log.metrics.Offset(), r.log.metrics.Checksum()
	}
	name := checkpoints.StepName(r.state.Steps)
	if r.state.Interrupted {
		name += "-stopped" // the step's own name is for the state after the evaluation
	}
	if best {
		r.state.Best.Checkpoint = name
	}
	s := agents.NewState()
	if err := r.world.learner.Save(s); err != nil {
		return err
	}
	p, err := r.world.learner.Policy()
	if err != nil {
		return err
	}
	file, err := p.Export()
	if err != nil {
		return err
	}
	counters := maps.Clone(s.Counters)
	counters["steps"], counters["episodes"] = r.state.Steps, r.state.Episodes
	counters[checkpoints.MetricsOffset], counters[checkpoints.MetricsChecksum] = r.state.MetricsOffset, int64(checksum)
	w, err := r.store.Create(name, checkpoints.Header{
		Kind: checkpoints.Full, CreatedBy: "stoker " + r.opts.Version, Kernels: r.world.kernels(),
		Config: r.shape, Load: r.world.loadJSON(), Counters: counters,
	})
	if err != nil {
		return err
	}
	defer w.Abort() //nolint:errcheck // after Commit it does nothing; before, the error that led here is the one to report
	if err := r.writeAll(w, s, file); err != nil {
		return err
	}
	c, err := w.Commit()
	if err != nil {
		return err
	}
	if err := r.store.Publish(c, best, r.world.x.Train.Checkpoint.Keep); err != nil {
		return err
	}
	r.saved = r.state.Steps
	return nil
}

func (r *run) writeAll(w *checkpoints.Writer, s *agents.State, p *agents.PolicyFile) error {
	envs, err := r.world.vector.AppendBinary(nil)
	if err != nil {
		return err
	}
	for _, write := range []func() error{
		func() error { return w.Tensors(checkpoints.WeightsFile, nil, tensors(p.Arrays)...) },
		func() error { return w.Tensors(learnerArrays, nil, tensors(s.Weights)...) },
		func() error { return w.Tensors(checkpoints.OptimiserFile, nil, tensors(s.Optimiser)...) },
		func() error { return writeJSON(w, policyFile, policyHeader{p.Agent, p.EnvID, p.Description}) },
		func() error { return writeJSON(w, learnerStateFile, learnerState{s.Blobs, s.Counters}) },
		func() error { return writeJSON(w, loopFile, r.state) },
		func() error { return w.Blob(checkpoints.EnvsFile, envs) },
	} {
		if err := write(); err != nil {
			return err
		}
	}
	if m := r.world.learner.Replay(); m != nil {
		return w.Replay(replayName, checkpoints.Replay{
			RowBytes: m.RowBytes(), Total: m.Next(), Capacity: int64(m.Capacity()),
			Append: func(dst []byte, first int64, n int) ([]byte, error) {
				for i := range int64(n) {
					dst = m.AppendRow(first+i, dst)
				}
				return dst, nil
			},
		})
	}
	return nil
}

func writeJSON(w *checkpoints.Writer, file string, v any) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return w.Blob(file, append(b, '\n'))
}

func readJSON(c *checkpoints.Checkpoint, file string, v any) error {
	b, err := c.Read(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %s: %w", c.Dir(), file, err)
	}
	return nil
}

// tensors lists arrays by name.
func tensors(m map[string]agents.Array) []safetensors.Tensor {
	var out []safetensors.Tensor
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, safetensors.Of(name, m[name].Data, m[name].Shape...))
	}
	return out
}

func readArrays(c *checkpoints.Checkpoint, file string) (map[string]agents.Array, error) {
	f, err := c.Tensors(file)
	if err != nil {
		return nil, err
	}
	out, err := arrays(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", c.Dir(), file, err)
	}
	return out, nil
}

func arrays(f *safetensors.File) (map[string]agents.Array, error) {
	out := map[string]agents.Array{}
	for _, t := range f.Tensors() {
		v, err := safetensors.Values[float32](t)
		if err != nil {
			return nil, err
		}
		out[t.Name] = agents.Array{Shape: t.Shape, Data: slices.Clone(v)}
	}
	return out, nil
}

// readLearner reads what learner.Load takes.
func readLearner(c *checkpoints.Checkpoint) (*agents.State, error) {
	var err error
	s := agents.NewState()
	if s.Weights, err = readArrays(c, learnerArrays); err != nil {
		return nil, err
	}
	if s.Optimiser, err = readArrays(c, checkpoints.OptimiserFile); err != nil {
		return nil, err
	}
	var l learnerState
	if err := readJSON(c, learnerStateFile, &l); err != nil {
		return nil, err
	}
	s.Blobs, s.Counters = l.Blobs, l.Counters
	return s, nil
}

// load restores from a checkpoint everything but the loop's state, which open has read.
func (r *run) load(c *checkpoints.Checkpoint) error {
	s, err := readLearner(c)
	if err != nil {
		return err
	}
	if err := r.world.learner.Load(s); err != nil {
		return fmt.Errorf("%s: %w", c.Dir(), err)
	}
	b, err := c.Read(checkpoints.EnvsFile)
	if err != nil {
		return err
	}
	if err := r.world.vector.UnmarshalBinary(b); err != nil {
		return fmt.Errorf("%s: %s: %w", c.Dir(), checkpoints.EnvsFile, err)
	}
	if m := r.world.learner.Replay(); m != nil {
		if err := readReplay(c, m); err != nil {
			return err
		}
	}
	r.saved = r.state.Steps
	r.store.Continue(c)
	return nil
}

func readReplay(c *checkpoints.Checkpoint, m *replay.Buffer) error {
	info, ok := c.Replay(replayName)
	if !ok {
		return fmt.Errorf("%s: holds no replay, the agent needs one", c.Dir())
	}
	if info.RowBytes != m.RowBytes() || info.Capacity != int64(m.Capacity()) {
		return fmt.Errorf("%s: replay has rows of %d bytes and room for %d, the agent's has %d and %d",
			c.Dir(), info.RowBytes, info.Capacity, m.RowBytes(), m.Capacity())
	}
	if err := m.Restore(info.First()); err != nil {
		return fmt.Errorf("%s: %w", c.Dir(), err)
	}
	return c.ReplayRows(replayName, func(_ int64, row []byte) error { return m.SetRow(row) })
}

// OpenCheckpoint opens the checkpoint that path means: a checkpoint's folder, a run's best one (the latest where none
// is best yet), or a policy of the zoo. A path that is not there, or is no such thing, is a usage error.
func OpenCheckpoint(path string) (*checkpoints.Checkpoint, error) {
	if name, ok := zoo.Cut(path); ok {
		c, err := zoo.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			err = Usage("%w", err)
		}
		return c, err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, Missing(path, "the folder of a checkpoint or a run, or a policy of the zoo")
	}
	dir, err := checkpoints.Find(durable.OS{}, path, checkpoints.Best)
	if errors.Is(err, fs.ErrNotExist) {
		dir, err = checkpoints.Find(durable.OS{}, path, checkpoints.Latest)
	}
	if errors.Is(err, checkpoints.ErrNotCheckpoint) {
		err = Usage("%w", err)
	}
	if err != nil {
		return nil, err
	}
	return checkpoints.Open(dir)
}

// ReadPolicy reads the policy of a checkpoint, full or policy.
func ReadPolicy(c *checkpoints.Checkpoint) (*agents.PolicyFile, error) {
	var h policyHeader
	if err := readJSON(c, policyFile, &h); err != nil {
		return nil, err
	}
	arrays, err := readArrays(c, checkpoints.WeightsFile)
	if err != nil {
		return nil, err
	}
	var compact bytes.Buffer // as the agent wrote it, so that a policy has one fingerprint
	if err := json.Compact(&compact, h.Description); err != nil {
		return nil, fmt.Errorf("%s: %s: description: %w", c.Dir(), policyFile, err)
	}
	return &agents.PolicyFile{Agent: h.Agent, EnvID: h.EnvID, Description: compact.Bytes(), Arrays: arrays}, nil
}

// EncodePolicy writes a policy as one safetensors file, for workers: the same policy gives the same bytes.
func EncodePolicy(p *agents.PolicyFile) ([]byte, error) {
	var b bytes.Buffer
	meta := map[string]string{"agent": p.Agent, "env": p.EnvID, "description": string(p.Description)}
	err := safetensors.Write(&b, meta, tensors(p.Arrays)...)
	return b.Bytes(), err
}

// DecodePolicy reads what [EncodePolicy] wrote.
func DecodePolicy(b []byte) (*agents.PolicyFile, error) {
	f, err := safetensors.Parse(b)
	if err != nil {
		return nil, err
	}
	list, err := arrays(f)
	if err != nil {
		return nil, err
	}
	m := f.Metadata
	return &agents.PolicyFile{Agent: m["agent"], EnvID: m["env"], Description: []byte(m["description"]), Arrays: list}, nil
}

// ReadExperiment reads the experiment that made a checkpoint, which names rows of a catalog. The manifest has the names of
// traces and of the environment's files alone: where they lie says the run's config.yaml, should the checkpoint still be in
// its run.
func ReadExperiment(c *checkpoints.Checkpoint, sets []string, names *catalog.Catalog) (*configs.Experiment, error) {
	run := filepath.Dir(filepath.Dir(c.Dir()))
	_, shipped := zoo.Cut(c.Dir())
	if x, err := ReadConfig(run, names); !shipped && err == nil {
		located, err := dataPaths(x)
		if err != nil {
			return nil, err
		}
		sets = append(located, sets...)
	}
	return experiment(c, sets, names)
}

// dataPaths are the settings of an experiment that are paths, of traces and of the environment's files; none where the data
// are inside the program.
func dataPaths(x *configs.Experiment) (sets []string, err error) {
	bare, err := eachPath(x, base)
	if err != nil {
		return nil, err
	}
	var parts [2]any
	for i, y := range []*configs.Experiment{bare, x} {
		text, err := json.Marshal(map[string]any{"env": y.Env.Config, "workload": y.Workload})
		if err != nil {
			return nil, err
		}
		if parts[i], err = decode(text); err != nil {
			return nil, err
		}
	}
	for key, d := range differences("", parts[0], parts[1]) {
		text, err := json.Marshal(d.now)
		if err != nil {
			return nil, err
		}
		sets = append(sets, key+"="+string(text))
	}
	return sets, nil
}

func experiment(c *checkpoints.Checkpoint, sets []string, names *catalog.Catalog) (*configs.Experiment, error) {
	return configs.ParseResolved(c.Dir()+"/"+checkpoints.ManifestFile, c.Header().Config, sets, names)
}
