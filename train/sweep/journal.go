package sweep

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/envs"
)

// JournalFile shows a study to Optuna: optuna.storages.JournalStorage loads it, and optuna-dashboard shows it. It is
// made from sweep.json and never read.
const JournalFile = "optuna.journal.log"

// Codes of the operations of Optuna's journal, of a trial's states and of directions.
const (
	createStudy = 0
	createTrial = 4

	stateRunning, stateComplete, statePruned, stateFail = 0, 1, 2, 3

	minimise, maximise = 1, 2
)

// noTime stands for the times of trials: a study has none, so that its bytes are those of any machine.
const noTime = "2000-01-01T00:00:00.000000+00:00"

// writeJournal writes the study as Optuna's journal.
func (s *Sweep) writeJournal() error {
	if s.Plan.Study == nil {
		return nil
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	var directions []int
	for _, d := range s.Plan.Study.Better {
		directions = append(directions, map[envs.Better]int{envs.Lower: minimise, envs.Higher: maximise}[d])
	}
	dir, err := filepath.Abs(s.Dir)
	if err != nil {
		return err
	}
	op := map[string]any{"op_code": createStudy, "worker_id": "stoker", "study_name": filepath.Base(dir), "directions": directions}
	if err := out.Encode(op); err != nil {
		return err
	}
	laws, kinds := s.Plan.laws(), map[string]string{}
	for k, l := range laws {
		text, err := l.distribution()
		if err != nil {
			return err
		}
		kinds[k] = text
	}
	number := 0
	for _, names := range s.Batches {
		for _, name := range names {
			i := slices.IndexFunc(s.Arms, func(a Arm) bool { return a.Name == name })
			if i < 0 {
				continue
			}
			if err := out.Encode(s.journalled(number, &s.Arms[i], laws, kinds)); err != nil {
				return err
			}
			number++
		}
	}
	path := filepath.Join(s.Dir, JournalFile)
	if durable.SameFile(durable.OS{}, path, b.Bytes()) {
		return nil
	}
	return durable.WriteFile(durable.OS{}, path, b.Bytes())
}

// journalled is a trial as one operation that creates it as it stands.
func (s *Sweep) journalled(number int, a *Arm, laws map[string]Law, kinds map[string]string) map[string]any {
	params := map[string]float64{}
	for _, set := range a.Settings {
		params[set.Key] = laws[set.Key].internal(set.Value)
	}
	t := s.became(number, a.Name)
	state := map[string]int{"complete": stateComplete, "pruned": statePruned, "fail": stateFail}[t.State]
	if state == statePruned && slices.ContainsFunc(a.Runs, func(r Run) bool { return r.Status != Pruned && r.Status != Finished }) {
		state = stateRunning
	}
	op := map[string]any{"op_code": createTrial, "worker_id": "stoker", "study_id": 0, "state": state, "value": nil, "values": nil,
		"datetime_start": noTime, "distributions": kinds, "params": params, "user_attrs": map[string]string{"arm": a.Name},
		"system_attrs": map[string]string{}}
	if state != stateRunning {
		op["datetime_complete"] = noTime
	}
	switch {
	case state == stateRunning || state == stateFail:
	case len(t.Values) == 1:
		op["value"] = t.Values[0]
	default:
		op["values"] = t.Values
	}
	steps := map[string]float64{}
	if len(s.Plan.Study.Metrics) == 1 { // Optuna has none of studies with several values
		for _, x := range t.Steps {
			steps[strconv.FormatFloat(x[0], 'f', 0, 64)] = x[1]
		}
	}
	op["intermediate_values"] = steps
	return op
}

// laws are those of all keys; an axis of the grid is a choice of its values.
func (p *Plan) laws() map[string]Law {
	out := map[string]Law{}
	for _, a := range p.Grid {
		out[a.Key] = Law{kind: choiceLaw, words: a.Values}
	}
	for _, r := range p.Random {
		out[r.Key] = r.Law
	}
	return out
}

// distribution is a law as Optuna writes it.
func (l Law) distribution() (string, error) {
	name, attributes := "FloatDistribution", map[string]any{"low": l.low, "high": l.high, "log": l.kind == logLaw, "step": nil}
	switch l.kind {
	case choiceLaw:
		name, attributes = "CategoricalDistribution", map[string]any{"choices": l.words}
	case intLaw:
		name, attributes["step"] = "IntDistribution", 1
	}
	b, err := json.Marshal(map[string]any{"name": name, "attributes": attributes})
	return string(b), err
}

// internal is a value as Optuna's journal has it: of a choice its index.
func (l Law) internal(value string) float64 {
	if l.kind == choiceLaw {
		return float64(slices.Index(l.words, value))
	}
	x, err := strconv.ParseFloat(value, 64)
	if err != nil { // the program wrote it
		return 0
	}
	return x
}
