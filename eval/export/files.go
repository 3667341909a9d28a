package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/checkpoints/durable"
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
