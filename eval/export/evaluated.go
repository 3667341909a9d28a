package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/train"
)

// findReport finds the evaluation of the policy in path: in the folder named, else on the card of a policy of the zoo,
// else in the run's folder eval, its sweep's, or that of a run beside it. It is nil where there is none; why then says
// what was found instead.
func findReport(ck *checkpoints.Checkpoint, path, folder string) (r *report, why string, err error) {
	if name, ok := zoo.Cut(path); ok && folder == "" {
		r, err = cardReport(name)
		return r, "", err
	}
	if folder != "" {
		r, ok, err := readFolder(folder, ck)
		switch {
		case err != nil:
			return nil, "", train.Usage("--eval: %w", err)
		case !ok:
			return nil, "", train.Usage("--eval: %s does not evaluate this policy, %s at step %d (%.12s)", folder, path,
				stepsOf(ck), ck.ID())
		}
		return r, "", nil
	}
	run := runOf(ck.Dir())
	if run == "" {
		return nil, "", nil
	}
	if run, err = filepath.Abs(run); err != nil { // run may be ".", and what lies beside it is looked at too
		return nil, "", err
	}
	own := filepath.Join(run, "eval")
	folders := []string{own, filepath.Join(filepath.Dir(run), "eval")}
	// Runs that differ by their seed are evaluated together, in the folder of the first.
	beside, err := filepath.Glob(filepath.Join(filepath.Dir(run), "*", "eval"))
	if err != nil {
		beside = nil // the folder's name has a sign of a pattern
	}
	for _, folder := range append(folders, beside...) {
		r, ok, err := readFolder(folder, ck)
		switch {
		case errors.Is(err, fs.ErrNotExist) || err != nil && folder != own:
			continue
		case err != nil:
			return nil, "", err
		case ok:
			return r, "", nil
		}
		if folder == own {
			file := filepath.Join(own, eval.SummaryFile)
			why = fmt.Sprintf("%s is of another checkpoint than this one, at step %d (%.12s)", file, stepsOf(ck), ck.ID())
			if len(r.Settings) == 0 {
				why = file + " was made by an older version, which did not record its settings"
			}
		}
	}
	return nil, why, nil
}

// readFolder reads an evaluation's folder; ok is whether it has the checkpoint.
func readFolder(folder string, ck *checkpoints.Checkpoint) (r *report, ok bool, err error) {
	file := filepath.Join(folder, eval.SummaryFile)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, false, fmt.Errorf("%s is not an evaluation: %w", folder, err)
	}
	if r, ok, err = readReport(text, ck.ID()); err != nil {
		return nil, false, fmt.Errorf("%s: %w", file, err)
	}
	return r, ok, nil
}

// cardReport is the first evaluation on a zoo policy's card; nil where there is none.
func cardReport(name string) (*report, error) {
	card, err := zoo.ReadCard(name)
	if err != nil || len(card.Evaluations) == 0 {
		return nil, err
	}
	text, err := json.Marshal(card.Evaluations[0])
	if err != nil {
		return nil, err
	}
	r := &report{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, err
	}
	var x struct {
		Eval struct {
			Stochastic bool `json:"stochastic"`
		} `json:"eval"`
	}
	r.Env = card.Env
	err = json.Unmarshal(card.Config, &x)
	r.Stochastic = x.Eval.Stochastic
	return r, err
}

// runOf is the run's folder of a checkpoint in it, empty for a checkpoint that lies elsewhere.
func runOf(dir string) string {
	if _, ok := zoo.Cut(dir); ok {
		return ""
	}
	if store := filepath.Dir(filepath.Clean(dir)); filepath.Base(store) == checkpoints.CheckpointsDir {
		return filepath.Dir(store)
	}
	return ""
}

func stepsOf(ck *checkpoints.Checkpoint) int64 { return ck.Header().Counters["steps"] }
