package configs

import (
	"slices"
	"strings"
	"testing"
)

// Keys that had another name are read, wherever they are given, and told of.
func TestRenamedKeys(t *testing.T) {
	const begin = "name: x\nenv: pond\nagent: pond\n"
	for _, k := range []struct {
		name, text string
		sets       []string
		said       []string
	}{
		{"names of today", begin + "train: {envs: 3}\neval: {baselines: [pond]}\n", nil, nil},
		{"a file", begin + "train:\n  copies: 3\neval:\n  rivals: [pond]\n", nil,
			[]string{"x.yaml:7: eval.rivals is called eval.baselines now", "x.yaml:5: train.copies is called train.envs now"}},
		{"settings", begin, []string{"train.copies=3", "eval.rivals=[pond]"},
			[]string{"--set train.copies=3: the key is called train.envs now", "--set eval.rivals=[pond]: the key is called eval.baselines now"}},
		{"a setting over a file", begin + "train: {copies: 5}\neval: {rivals: [pond]}\n", []string{"train.envs=3"},
			[]string{"x.yaml:5: eval.rivals is called eval.baselines now", "x.yaml:4: train.copies is called train.envs now"}},
		{"sections set whole", begin, []string{"train={copies: 3}", "eval={rivals: [pond]}"},
			[]string{"--set: eval.rivals is called eval.baselines now", "--set: train.copies is called train.envs now"}},
		{"a key that is not used", begin + "train: {envs: 3}\neval: {baselines: [pond], tolerance: 0.02}\n", nil,
			[]string{"x.yaml:5: eval.tolerance is not used: verdicts go by eval.relative_tolerance, a part of the other policy's violations"}},
	} {
		e, err := Parse("x.yaml", []byte(k.text), k.sets, tables())
		if err != nil {
			t.Errorf("%s: %v", k.name, err)
			continue
		}
		if e.Train.Envs != 3 || len(e.Eval.Baselines) != 1 || !slices.Equal(e.Renamed, k.said) {
			t.Errorf("%s: %d environments, baselines %v, told of %q, want %q", k.name, e.Train.Envs, e.Eval.Baselines, e.Renamed, k.said)
		}
	}
	_, err := Parse("x.yaml", []byte(begin+"train: {copies: 5, envs: 5}\n"), nil, tables())
	if want := "x.yaml:4: train.copies is the former name of train.envs, and both are there"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("both names: error %v, want %q", err, want)
	}
}
