package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/envs/workload"
)

// report is an eval.json as far as a bundle has it. Rows are kept as they are written.
type report struct {
	// Policy is the policy's name in it.
	Policy      string          `json:"policy"`
	Env         string          `json:"env,omitempty"`
	EnvConfig   json.RawMessage `json:"env_config"`
	Workload    json.RawMessage `json:"workload"`
	Split       string          `json:"split"`
	Seeds       []uint64        `json:"seeds"`
	Stochastic  bool            `json:"stochastic"`
	Summary     string          `json:"summary,omitempty"`
	Statistic   string          `json:"statistic"`
	Objective   string          `json:"objective,omitempty"`
	Constraint  string          `json:"constraint,omitempty"`
	Tolerance   float64         `json:"tolerance,omitempty"`
	Metrics     json.RawMessage `json:"metrics"`
	Policies    []reportRow     `json:"policies"`
	Comparisons []reportRow     `json:"comparisons"`
	Verdicts    []reportRow     `json:"verdicts,omitempty"`
	// Settings say which checkpoints were played; they have paths of a machine, and no bundle has them.
	Settings map[string]string `json:"settings,omitempty"`
	Digest   string            `json:"settings_digest,omitempty"`
	Revision string            `json:"revision,omitempty"`
}

// reportRow is a policy's row, or a comparison of policies a and b.
type reportRow map[string]json.RawMessage

// text is a row's value of a key that has a text, empty where it has none.
func (r reportRow) text(key string) (s string) {
	if json.Unmarshal(r[key], &s) != nil {
		return ""
	}
	return s
}

// readReport reads an eval.json and finds the policy's name in it: the one that plays the checkpoint of an id. ok is
// whether it is there.
func readReport(text []byte, id string) (r *report, ok bool, err error) {
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, false, fmt.Errorf("is not an eval.json: %w", err)
	}
	for key, played := range r.Settings {
		name, is := strings.CutPrefix(key, "policy ")
		if is && strings.Contains(played, "("+id[:12]+")") {
			r.Policy, ok = name, true
		}
	}
	return r, ok, nil
}

// reduce leaves the policy's own row, and its comparisons and verdicts, without anything of the machine.
func (r *report) reduce() error {
	r.Settings = nil
	r.Policies = slices.DeleteFunc(r.Policies, func(p reportRow) bool { return p.text("name") != r.Policy })
	if len(r.Policies) == 0 {
		return fmt.Errorf("the evaluation has no row of %s", r.Policy)
	}
	for _, p := range r.Policies {
		delete(p, "sources")
	}
	others := func(c reportRow) bool { return c.text("a") != r.Policy && c.text("b") != r.Policy }
	r.Comparisons = slices.DeleteFunc(r.Comparisons, others)
	r.Verdicts = slices.DeleteFunc(r.Verdicts, others)
	var err error
	if r.EnvConfig, err = withoutPaths(r.EnvConfig); err == nil {
		r.Workload, err = withoutPaths(r.Workload)
	}
	return err
}

// withoutPaths is a JSON text in which a path that leads out of the working folder is replaced by its last part: where
// data lie on a machine is nobody's business elsewhere.
func withoutPaths(text []byte) (json.RawMessage, error) {
	if len(text) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	return json.Marshal(eachText(tree, func(s string) string {
		if filepath.IsAbs(s) || strings.HasPrefix(s, "..") && strings.ContainsAny(s, `/\`) {
			return filepath.Base(s)
		}
		return s
	}))
}

// eachText is a JSON value in which f has replaced every text that is no key.
func eachText(v any, f func(string) string) any {
	switch v := v.(type) {
	case string:
		return f(v)
	case []any:
		for i := range v {
			v[i] = eachText(v[i], f)
		}
	case map[string]any:
		for k := range v {
			v[k] = eachText(v[k], f)
		}
	}
	return v
}

// workloadOf reads a workload's section; what it leaves out has its default.
func workloadOf(text []byte) (workload.Config, error) {
	w := workload.Default()
	return w, json.Unmarshal(text, &w)
}

// readBack is the report that a bundle holds, nil where the policy was never evaluated.
func readBack(f *bundle.File) (*report, error) {
	if !f.Evaluation.Evaluated || len(f.Evaluation.Report) == 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	r := &report{}
	return r, json.Unmarshal(f.Evaluation.Report, r)
}
