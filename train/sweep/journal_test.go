package sweep

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// The journal creates the study and each trial as it stands, in the order of proposals, with its scores.
func TestJournal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rates")
	p := study(t, nil)
	p.Grid = []Axis{{"agent.hidden", []string{"[4]", "[6]"}}}
	p.Trials = 2
	s := prepare(t, dir, p, false)
	must.Do(t, s.Run(t.Context(), Options{Jobs: 2, Train: fast}))
	text := must.Get(os.ReadFile(filepath.Join(dir, JournalFile)))(t)
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	if len(lines) != 5 || string(lines[0]) != `{"directions":[1],"op_code":0,"study_name":"rates","worker_id":"stoker"}` {
		t.Fatalf("%s", text)
	}
	states := map[int]int{}
	for i, line := range lines[1:] {
		var op struct {
			OpCode        int `json:"op_code"`
			State         int
			Value         float64
			Params        map[string]float64
			Distributions map[string]string
			Intermediate  map[string]float64 `json:"intermediate_values"`
		}
		must.Do(t, json.Unmarshal(line, &op))
		states[op.State]++
		a := s.Arms[i]
		last := a.Runs[0].Scores[len(a.Runs[0].Scores)-1]
		if op.OpCode != 4 || op.Value != *last.Values[0] || len(op.Intermediate) != len(a.Runs[0].Scores) ||
			op.Params["agent.hidden"] != map[string]float64{"[4]": 0, "[6]": 1}[a.Settings[0].Value] ||
			!strings.Contains(op.Distributions["agent.actor_rate"], `"high":0.1,"log":true,"low":0.0001,"step":null`) {
			t.Errorf("trial %d: %s, want %+v", i, line, a)
		}
	}
	if states[stateComplete] != 1 || states[statePruned] != 3 {
		t.Errorf("trials by state: %v", states)
	}
	python := os.Getenv(PythonVar)
	if python == "" || exec.Command(python, "-c", "import optuna").Run() != nil {
		t.Skipf("%s names no Python with optuna, which would load the journal", PythonVar)
	}
	const load = `import optuna, sys
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
s = optuna.load_study(study_name="rates", storage=JournalStorage(JournalFileBackend(sys.argv[1])))
print(len(s.trials), s.best_trial.number, s.best_trial.params["agent.hidden"])`
	best := s.Ranked()[0]
	number := 0
	for i, a := range s.Arms {
		if a.Name == best.Name {
			number = i
		}
	}
	out := must.Get(exec.Command(python, "-W", "ignore", "-c", load, filepath.Join(dir, JournalFile)).Output())(t)
	if want := "4 " + string(rune('0'+number)) + " " + best.Settings[0].Value; strings.TrimSpace(string(out)) != want {
		t.Errorf("Optuna reads %s, want %s", out, want)
	}
}
