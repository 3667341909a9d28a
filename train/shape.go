package train

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/configs"
)

// shapeOf returns the part of a configuration that shapes results, as JSON: what only says how it is carried out is left
// out, so that any number of workers leaves the same checkpoint.
func shapeOf(x *configs.Experiment) (json.RawMessage, error) {
	y := *x
	y.Engine.Workers, y.Engine.Device = 0, configs.Default().Engine.Device
	if y.Engine.Name == "native" {
		y.Engine.Threads = 0
	}
	text, err := y.YAML()
	if err != nil {
		return nil, err
	}
	var v any
	if err := yaml.Load(text, &v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// sameShape refuses to go on from a checkpoint under another configuration, as an edited config.yaml would have it. The number of
// steps may change; keys that the checkpoint doesn't have are younger than it.
func sameShape(shape []byte, c *checkpoints.Checkpoint) error {
	now, err := decode(shape)
	if err != nil {
		return err
	}
	was, err := decode(c.Header().Config)
	if err != nil {
		return fmt.Errorf("%s: config: %w", c.Dir(), err)
	}
	if key, a, b, differ := difference("", was, now); differ {
		return Usage("%s was made with %s: %v, the run's %s now says %v; put it back, or start a run of its own (train --init-from)",
			c.Dir(), key, a, configFile, b)
	}
	return nil
}

// decode reads JSON with its numbers as they stand there: seeds have 64 bits.
func decode(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return v, d.Decode(&v)
}

// difference returns the first key that a and b have both and not alike, with its values.
func difference(path string, a, b any) (key string, was, now any, differ bool) {
	x, ok := a.(map[string]any)
	y, both := b.(map[string]any)
	if !ok || !both {
		return path, a, b, fmt.Sprint(a) != fmt.Sprint(b)
	}
	for _, k := range slices.Sorted(maps.Keys(x)) {
		at := k
		if path != "" {
			at = path + "." + k
		}
		v, have := y[k]
		if !have || at == "train.steps" {
			continue
		}
		if key, was, now, differ = difference(at, x[k], v); differ {
			return key, was, now, true
		}
	}
	return "", nil, nil, false
}
