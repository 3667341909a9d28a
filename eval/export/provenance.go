package export

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/train"
)

// provenance says where a policy comes from, by its checkpoint and its run.
func provenance(name string, t *eval.Trained) (bundle.Provenance, error) {
	h := t.Checkpoint.Header()
	p := bundle.Provenance{Name: name, Kernels: h.Kernels, Seeds: []uint64{t.Experiment.Seed}, Steps: t.Steps(),
		Revision: h.CreatedBy}
	if r := revisionOf(runOf(t.Checkpoint.Dir()), t.Steps()); r != "" {
		p.Revision = r
	}
	var err error
	if p.Config, err = withoutPaths(h.Config); err != nil {
		return p, err
	}
	p.Trace, err = traceOf(t.Experiment)
	return p, err
}

// revisionOf is the revision of the program that brought a run to a step, by its run.json; empty where that does not
// say it.
func revisionOf(run string, step int64) (revision string) {
	b, err := os.ReadFile(filepath.Join(run, checkpoints.RunFile))
	if run == "" || err != nil {
		return ""
	}
	var d struct {
		Sessions []struct {
			Revision string `json:"revision"`
			From     int64  `json:"from"`
		} `json:"sessions"`
	}
	if json.Unmarshal(b, &d) != nil {
		return ""
	}
	for _, s := range d.Sessions { // a session after the checkpoint begins at its step or later
		if s.From < step && s.Revision != "unknown" {
			revision = s.Revision
		}
	}
	return revision
}

// traceOf is the digest of the trace that an experiment's environment reads, empty where it reads none.
func traceOf(x *configs.Experiment) (string, error) {
	digest, err := workload.TraceDigest(x.Workload)
	if err != nil || digest == "" {
		return "", err
	}
	// The section may name a trace that the environment does not read: then it opens without that trace too.
	y := *x
	y.Workload.Path = filepath.Join(os.DevNull, "no trace")
	y.Workload.Draw = workload.Draw{}
	if _, err := train.NewEnv(&y, ""); err == nil {
		return "", nil
	}
	return digest, nil
}
