package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/safetensors"
	"github.com/stoker-rl/stoker/nets"
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
