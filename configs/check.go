package configs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// validator is implemented by the configurations of environments and agents. Its error begins with the key at fault.
type validator interface{ Validate() error }

// check reports what is wrong with the values.
func (e *Experiment) check(r *reader) {
	t, g := &e.Train, &e.Engine
	for _, c := range []struct {
		ok     bool
		key    string
		got    any
		mustBe string
	}{
		{e.Name != "", "name", "missing", "a short name for the experiment's runs"},
		{e.Name == "" || shortName.MatchString(e.Name), "name", fmt.Sprintf("%q", e.Name), "letters, digits, '.', '_' and '-', a letter or digit first"},
		{t.Steps >= 1, "train.steps", t.Steps, "at least 1"},
		{t.Copies >= 1 && t.Copies <= maxCopies, "train.copies", t.Copies, fmt.Sprintf("from 1 to %d", maxCopies)},
		{t.LogEvery >= 1, "train.log_every", t.LogEvery, "at least 1"},
		{t.Evaluate.Every >= 0, "train.evaluate.every", t.Evaluate.Every, "0 (never) or more"},
		{t.Evaluate.Every == 0 || t.Evaluate.Episodes >= 1, "train.evaluate.episodes", t.Evaluate.Episodes, "at least 1"},
		{t.Checkpoint.Every >= 0, "train.checkpoint.every", t.Checkpoint.Every, "0 (only at the end) or more"},
		{t.Checkpoint.Keep >= 0, "train.checkpoint.keep", t.Checkpoint.Keep, "0 (all) or more"},
		{e.Eval.Resamples >= 100, "eval.resamples", e.Eval.Resamples, "at least 100"},
		{slices.Contains([]string{"test", "train", "all"}, e.Eval.Split), "eval.split", e.Eval.Split, "test, train or all"},
		{slices.Contains([]string{"native", "torch", "gorgonia"}, g.Name), "engine.name", g.Name, "native, torch or gorgonia"},
		{slices.Contains([]string{"float32", "float64"}, g.DType), "engine.dtype", g.DType, "float32 or float64"},
		{isDevice(g.Device), "engine.device", g.Device, "auto, cpu or cuda:N"},
		{g.Name == "torch" || !strings.HasPrefix(g.Device, "cuda"), "engine.device", g.Device, "auto or cpu with engine.name " + g.Name + "; CUDA needs torch"},
		{g.Threads >= 0, "engine.threads", g.Threads, "0 or more"},
		{g.Workers >= 0, "engine.workers", g.Workers, "0 or more"},
	} {
		if !c.ok {
			if s, text := c.got.(string); text && c.key != "name" {
				c.got = fmt.Sprintf("%q", s)
			}
			r.add(r.lines[c.key], "%s is %v, want %s", c.key, c.got, c.mustBe)
		}
	}
	if _, err := ParseSeeds(e.Eval.Seeds); err != nil {
		r.add(r.lines["eval.seeds"], "eval.seeds: %v", err)
	}
	r.validate("workload", &e.Workload)
	r.validate("env", e.Env.Config)
	r.validate("agent", e.Agent.Config)
	for i, c := range e.Eval.Rivals {
		r.validate(fmt.Sprintf("eval.rivals[%d]", i), c.Config)
	}
}

// Validate reports all that is wrong with the values, by their keys.
func (e *Experiment) Validate() error {
	r := reader{lines: map[string]int{}}
	if e.check(&r); len(r.problems) > 0 {
		return &Error{e.Source, r.problems}
	}
	return nil
}

// NamePattern is what an experiment's name must be. It leaves room for a seed behind it in a run's name.
const NamePattern = `^[A-Za-z0-9][A-Za-z0-9._-]{0,77}$`

var shortName = regexp.MustCompile(NamePattern)

// maxCopies bounds a slip of the finger.
const maxCopies = 1 << 20

// validate asks a section's own check, and finds the line of the key that its error names first.
func (r *reader) validate(section string, config any) {
	v, ok := config.(validator)
	if !ok {
		return
	}
	err := v.Validate()
	if err == nil {
		return
	}
	text := strings.TrimPrefix(err.Error(), section+".")
	key, _, _ := strings.Cut(text, " ")
	key = section + "." + strings.TrimSuffix(key, ":")
	if _, known := r.lines[key]; !known {
		key, _, _ = strings.Cut(key, "[") // an element of a list that stands there as a whole
	}
	if line, known := r.lines[key]; known {
		r.add(line, "%s.%s", section, text)
		return
	}
	// The value is a default, or the error is about several keys.
	r.add(0, "%s: %s", section, text)
}

func isDevice(d string) bool {
	var n int
	if d == "auto" || d == "cpu" {
		return true
	}
	c, err := fmt.Sscanf(d, "cuda:%d", &n)
	return c == 1 && err == nil && n >= 0 && d == fmt.Sprintf("cuda:%d", n)
}
