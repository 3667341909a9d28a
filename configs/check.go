package configs

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/stoker-rl/stoker/bounds"
)

// validator is implemented by the configurations of environments, learners and rivals. What it reports about a key is a
// [bounds.Error].
type validator interface{ Validate() error }

// check reports what is wrong with the values.
func (e *Experiment) check(r *reader) {
	for _, w := range bounds.Wrong(e) {
		if !strings.HasPrefix(w.Key, "workload.") { // it is checked as a whole below
			r.report("", w)
		}
	}
	t, g := &e.Train, &e.Engine
	switch {
	case e.Name == "":
		r.report("", bounds.Errorf("name", "is missing, want a short name for the experiment's runs"))
	case !shortName.MatchString(e.Name):
		r.report("", bounds.Errorf("name", "is %q, want letters, digits, '.', '_' and '-', a letter or digit first", e.Name))
	}
	if n := e.Wrappers.NormalizeReward; n.Gamma != 0 && n.Clip == 0 {
		r.report("", bounds.Errorf("wrappers.normalize_reward.gamma",
			"is %g without a clip, want clip: 10 or so beside it", n.Gamma))
	}
	if t.Evaluate.Every != 0 && t.Evaluate.Episodes < 1 {
		r.report("", bounds.Errorf("train.evaluate.episodes", "is %d, want at least 1", t.Evaluate.Episodes))
	}
	switch {
	case !IsDevice(g.Device):
		r.report("", bounds.Errorf("engine.device", "is %q, want auto, cpu or cuda:N", g.Device))
	case g.Name != "torch" && strings.HasPrefix(g.Device, "cuda"):
		r.report("", bounds.Errorf("engine.device",
			"is %q, want auto or cpu with engine.name %s; CUDA needs torch", g.Device, g.Name))
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

// validate asks a section's own check; a section that has none is checked against its fields' tags.
func (r *reader) validate(section string, config any) {
	check := func() error { return bounds.Check(config) }
	if v, ok := config.(validator); ok {
		check = v.Validate
	}
	if err := check(); err != nil {
		r.report(section, err)
	}
}

// report adds an error about a section's value, with the line of its key. A key that is not in the file has the line of
// the nearest key around it that is: the list of an element, the section of a field. A value that is a default has no
// line.
func (r *reader) report(section string, err error) {
	var e *bounds.Error
	if !errors.As(err, &e) {
		r.add(0, "%s: %v", section, err)
		return
	}
	key := e.Key
	if section != "" {
		key = section + "." + key
	}
	line, at := 0, key
	for line == 0 && strings.ContainsRune(at[len(section):], '[') {
		line = r.lines[at]
		at = at[:strings.LastIndexByte(at, '[')]
	}
	if line == 0 {
		line = r.lines[at]
	}
	r.add(line, "%s %s", key, e.Text)
}

// IsDevice reports whether d is auto, cpu or cuda:N.
func IsDevice(d string) bool {
	var n int
	if d == "auto" || d == "cpu" {
		return true
	}
	c, err := fmt.Sscanf(d, "cuda:%d", &n)
	return c == 1 && err == nil && n >= 0 && d == fmt.Sprintf("cuda:%d", n)
}
