package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/safetensors"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/policy/onnx"
	"github.com/stoker-rl/stoker/train"
)

// Format is a kind of file.
type Format string

// Formats.
const (
	Bundle      Format = "bundle"
	ONNX        Format = "onnx"
	Safetensors Format = "safetensors"
)

// writers are the formats, in the order in which they are written.
var writers = []struct {
	format    Format
	extension string
	encode    func(*bundle.File) ([]byte, error)
}{
	{Bundle, bundle.Extension, bundle.Encode},
	{ONNX, ".onnx", onnx.Write},
	{Safetensors, ".safetensors", Weights},
}

// Formats lists those there are.
func Formats() (out []string) {
	for _, w := range writers {
		out = append(out, string(w.format))
	}
	return out
}

// ParseFormats reads formats with commas between.
func ParseFormats(text string) ([]Format, error) {
	var out []Format
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(Formats(), name) {
			return nil, train.Usage("--format has %q, want some of %s, with commas between", name, strings.Join(Formats(), ","))
		}
		out = append(out, Format(name))
	}
	return out, nil
}

// Written is a file that was written.
type Written struct {
	Format Format `json:"format"`
	File   string `json:"file"`
	Bytes  int    `json:"bytes"`
	// Digest is the SHA-256 of the file, as sha256sum prints it.
	Digest string `json:"digest"`
	// Evaluated says that the policy was evaluated before.
	Evaluated bool `json:"evaluated"`
	// Unchanged says that the same file was there already.
	Unchanged bool `json:"unchanged,omitempty"`
	// Agreement is set for a bundle.
	Agreement *Agreement `json:"agreement,omitempty"`
}

// Write writes the files of the formats into a folder, which is made where it is missing. A file that is there already
// is left as it is where it is the same, and is refused where it is another one, unless overwrite is set. All files are
// made, and refused, before the first is written.
func (c *Collected) Write(ctx context.Context, dir string, formats []Format, overwrite bool) ([]Written, error) {
	var all []Written
	var contents [][]byte
	for _, w := range writers {
		if !slices.Contains(formats, w.format) {
			continue
		}
		b, err := w.encode(c.File)
		if err != nil {
			return nil, err
		}
		out := Written{Format: w.format, File: filepath.Join(dir, c.Name+w.extension), Bytes: len(b),
			Digest: bundle.Digest(b), Evaluated: c.File.Evaluation.Evaluated}
		if w.format == Bundle {
			if out.Agreement, err = c.Agree(ctx, b); err != nil {
				return nil, err
			}
		}
		there, err := os.ReadFile(out.File)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		case bytes.Equal(there, b):
			out.Unchanged = true
		case !overwrite:
			return nil, train.Usage("%s is there already, and is another one (sha256:%.12s); give --overwrite, or another "+
				"folder with --out", out.File, bundle.Digest(there))
		}
		all, contents = append(all, out), append(contents, b)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	for i, w := range all {
		if w.Unchanged {
			continue
		}
		if err := durable.WriteFile(durable.OS{}, w.File, contents[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Weights writes a policy's weights alone as a safetensors file: a tensor for each parameter, as ARRAY.PARAMETER. Every
// matrix is [out, in], as torch.nn.Linear has it; where agents have weights of their own, [agents, …] goes before. What
// is no network's parameter, such as statistics of observations, is as in the policy's file. The metadata hold the
// agent's name and its description, which has the architecture.
func Weights(f *bundle.File) ([]byte, error) {
	archs := map[string]nets.Arch{}
	if err := findArchs(f.Agent.Description, "", "", archs); err != nil {
		return nil, fmt.Errorf("safetensors: description: %w", err)
	}
	var all []safetensors.Tensor
	for _, name := range slices.Sorted(maps.Keys(f.Arrays)) {
		a := f.Arrays[name]
		arch, ok := archs[name]
		if !ok {
			all = append(all, safetensors.Of(name, a.Data, a.Shape...))
			continue
		}
		slots, size := nets.Layout(arch)
		groups := arch.Groups()
		if len(a.Data) != groups*size {
			return nil, fmt.Errorf("safetensors: array %q has %d numbers, its architecture has %d", name, len(a.Data),
				groups*size)
		}
		for _, s := range slots {
			all = append(all, parameter(name+"."+s.Name, s, a.Data, groups, size))
		}
	}
	meta := map[string]string{"format": "pt", "stoker.agent": f.Agent.Name,
		"stoker.description": string(f.Agent.Description)}
	var buf bytes.Buffer
	err := safetensors.Write(&buf, meta, all...)
	return buf.Bytes(), err
}

// parameter is a parameter of all groups as one tensor.
func parameter(name string, s nets.Slot, data []float32, groups, size int) safetensors.Tensor {
	var out []float32
	shape := slices.Clone(s.Shape)
	slices.Reverse(shape)
	for g := range groups {
		part := data[g*size+s.Offset:][:s.Size()]
		if len(s.Shape) != 2 {
			out = append(out, part...)
			continue
		}
		ins, outs := s.Shape[0], s.Shape[1]
		for o := range outs {
			for i := range ins {
				out = append(out, part[i*outs+o])
			}
		}
	}
	if groups > 1 {
		shape = append([]int{groups}, shape...)
	}
	return safetensors.Of(name, out, shape...)
}

// findArchs finds the architectures in a policy's description, by the names of their arrays. An architecture's array is
// called by its key; in a list of kinds of agents it is KIND.KEY.
func findArchs(text json.RawMessage, key, kind string, out map[string]nets.Arch) error {
	switch bytes.TrimLeft(text, " \n\t")[0] {
	case '[':
		var list []json.RawMessage
		if err := json.Unmarshal(text, &list); err != nil {
			return err
		}
		for _, v := range list {
			var named struct {
				Name string `json:"name"`
			}
			if json.Unmarshal(v, &named) != nil {
				continue // no object: nothing in it
			}
			if err := findArchs(v, key, named.Name, out); err != nil {
				return err
			}
		}
	case '{':
		var object map[string]json.RawMessage
		if err := json.Unmarshal(text, &object); err != nil {
			return err
		}
		if len(object["kind"]) > 0 && len(object["arch"]) > 0 {
			arch, err := nets.DecodeArch(text)
			if err != nil {
				return err
			}
			if kind != "" {
				key = kind + "." + key
			}
			out[key] = arch
			return nil
		}
		for k, v := range object {
			if err := findArchs(v, k, kind, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// Open opens a bundle as a serving program does. A policy that no description explains is opened by the catalog's learner.
func Open(names *catalog.Catalog, b []byte) (*policy.Policy, error) {
	f, err := bundle.Decode(b, bundle.Limits{})
	if err != nil {
		return nil, err
	}
	var more []policy.Agent
	for _, l := range names.Learners {
		if l.Name == f.Agent.Name && !actor.Describes(f.Agent.Description) {
			more = append(more, policy.Agent{Name: l.Name, Open: l.Open, State: true})
		}
	}
	return policy.OpenBytes(b, policy.Options{Agents: more})
}

// Check verifies a bundle: its digests, that the policy can be built and passes its self-test. The report says what is
// inside. It is nil where the file is no bundle that could be read.
func Check(names *catalog.Catalog, path string) (*checkpoints.Report, error) {
	f, digest, err := bundle.Open(path, bundle.Limits{})
	if err != nil {
		return nil, err
	}
	r := &checkpoints.Report{Path: path, Kind: "bundle", OK: true}
	add := func(status checkpoints.Status, what, format string, args ...any) {
		r.Findings = append(r.Findings, checkpoints.Finding{Status: status, What: what, Detail: fmt.Sprintf(format, args...)})
	}
	add(checkpoints.Good, "sha256", "%s, every digest agrees", digest)
	b, err := bundle.Encode(f)
	if err != nil {
		return nil, err
	}
	p, err := Open(names, b)
	if err != nil {
		add(checkpoints.Problem, "policy", "%v", err)
		r.OK = false
		return r, fmt.Errorf("%s: %w", path, err)
	}
	for _, k := range p.Spec().Kinds {
		add(checkpoints.Good, "spec", "%s: agents of kind %s: %d, each sees %v and does %v", p.Spec().ID, k.Name, k.Agents,
			k.Observation, k.Action)
	}
	numbers := 0
	for _, a := range f.Arrays {
		numbers += len(a.Data)
	}
	add(checkpoints.Good, "agent", "%s, %d arrays, %d numbers; %d observations of the self-test gave the recorded actions",
		f.Agent.Name, len(f.Arrays), numbers, len(f.SelfTest))
	v := f.Provenance
	add(checkpoints.Good, "provenance", "%s, seed %s, %d steps, made by %s, kernels %s", v.Name, list(v.Seeds), v.Steps,
		v.Revision, v.Kernels)
	r.Findings = append(r.Findings, evaluation(f))
	features := 0
	for _, s := range f.Seen {
		features += len(s.Features)
	}
	add(checkpoints.Good, "seen", "ranges of %d features", features)
	if f.Fallback == nil {
		add(checkpoints.Notice, "fallback", "there is none: where the policy must not decide, nothing decides")
	} else {
		add(checkpoints.Good, "fallback", "%s %s", f.Fallback.Name, f.Fallback.Config)
	}
	return r, nil
}

func list(seeds []uint64) string { return strings.Trim(fmt.Sprint(seeds), "[]") }

// evaluation says how the policy was judged.
func evaluation(f *bundle.File) checkpoints.Finding {
	out := checkpoints.Finding{Status: checkpoints.Notice, What: "evaluation", Detail: "it was never evaluated"}
	r, err := readBack(f)
	if err != nil || r == nil {
		return out
	}
	out.Status = checkpoints.Good
	out.Detail = fmt.Sprintf("%s under %d workload seeds, split %s, %d comparisons", r.Policy, len(r.Seeds), r.Split,
		len(r.Comparisons))
	if r.Summary != "" {
		out.Detail += ": " + r.Summary
	}
	return out
}

// Agreement is how a bundle, opened as a serving program does it, decides beside the policy that it was made from, in
// the evaluation's first episode.
type Agreement struct {
	// Observations is how many were shown to both, Unequal at how many an action differed by more than rounding.
	Observations int `json:"observations"`
	Unequal      int `json:"unequal"`
	// Largest is the largest difference of a component.
	Largest float64 `json:"largest_difference"`
	// Fallbacks is how often the bundle's guard would not let the policy decide.
	Fallbacks int `json:"fallbacks"`
}

// rounding is how far components of equal actions may be apart.
const rounding = 1e-5

// Agree opens a bundle of the policy and plays the evaluation's first episode with both.
func (c *Collected) Agree(ctx context.Context, b []byte) (*Agreement, error) {
	served, err := Open(catalog.Of(c.trained.Experiment), b)
	if err != nil {
		return nil, err
	}
	own, err := c.trained.Policy(c.world.spec)
	if err != nil {
		return nil, err
	}
	out, a := served.NewAction(), &Agreement{}
	var failed error
	run := rollout.NewRunner(c.world.env)
	run.OnStep = func(s rollout.Step) {
		if failed != nil {
			return
		}
		d, err := served.Decide(ctx, s.Seen, out)
		if err != nil {
			failed = fmt.Errorf("step %d: %w", s.Number, err)
			return
		}
		a.Observations++
		if d.By != policy.ByPolicy {
			a.Fallbacks++
			return
		}
		most := 0.0
		for k, row := range s.Action.Kinds {
			for i, x := range row {
				most = max(most, math.Abs(float64(x-out.Kinds[k][i])))
			}
		}
		if a.Largest = max(a.Largest, most); most > rounding {
			a.Unequal++
		}
	}
	_, err = run.Episode(rollout.Actor{Policy: eval.Stoppable(ctx, own)}, c.world.seeds[0])
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, fmt.Errorf("the bundle, opened again: %w", err)
	}
	return a, nil
}
