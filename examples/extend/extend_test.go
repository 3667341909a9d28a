package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/workbench"
)

// asMain makes a copy of this test program the command.
const asMain = "ROOM_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		main()
	}
	os.Exit(m.Run())
}

// stoker runs this program's command in a process of its own.
func stoker(line string) (code int, out, errs string) {
	c := exec.Command(os.Args[0], strings.Fields(line)...)
	c.Env = append(os.Environ(), asMain+"=1")
	var o, e strings.Builder
	c.Stdout, c.Stderr = &o, &e
	_ = c.Run() // the exit code says it
	return c.ProcessState.ExitCode(), o.String(), e.String()
}

// The room keeps the whole contract.
func TestRoomConforms(t *testing.T) {
	envtest.Run(t, func() (envs.Env, error) { return NewRoom(DefaultRoom()) }, envtest.Options{})
}

// The room does what it did when its trace was recorded (delete the file to record another: STOKER_RECORD=1).
func TestRoomGolden(t *testing.T) {
	record := os.Getenv("STOKER_RECORD") != ""
	envtest.Golden(t, "testdata/room.golden", record, func() (envs.Env, error) { return NewRoom(DefaultRoom()) })
}

// Every command knows the rows: README.md's way, from training to a figure, with a resume to more steps on it.
func TestCommands(t *testing.T) {
	text, err := os.ReadFile("room.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("room.yaml", text, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line string
		out  []string // what it prints
		file string   // what it writes
	}{
		{"envs " + RoomID + " --check", []string{RoomID, "conforms"}, ""},
		{"envs", []string{"keep a room at 20 °C"}, ""},
		{"agents", []string{"climb", "hill climbing", "thermostat"}, ""},
		{"train room.yaml --set train.steps=400", []string{"trained 400 steps", "best return"}, "runs/room-s1/metrics.jsonl"},
		{"resume runs/room-s1 --steps 6000", []string{"trained 6000 steps"}, ""},
		{"resume runs/room-s1", []string{"is finished"}, ""},
		{"check runs/room-s1", []string{"sound"}, ""},
		{"eval runs/room-s1", []string{"learned: room; heuristic: thermostat, random"}, "runs/room-s1/eval/report.html"},
		{"export runs/room-s1 --format bundle,onnx", []string{" 0 unequal actions"}, "room-s1.onnx"},
		{"explain runs/room-s1 --states 20 --replay=false", []string{"inside", "outside"}, "runs/room-s1/explain/features.csv"},
		{"check room-s1.stoker", []string{"self-test", "sound"}, ""},
		{"plot runs/room-s1 --out curves", []string{"learning_curve.png"}, "curves/learning_curve.svg"},
		{"plot runs/room-s1/eval", nil, ""},
		{"suite", []string{"thermostats"}, ""},
		{"suite thermostats --quick --out suite", []string{"distance from 20 °C"}, "suite/suite.json"},
		{"train --schema", []string{RoomID, "Minutes is the length of an episode.", `"maximum": 1440`,
			"Width is the standard deviation of a trial", "Below is the temperature under which it heats"}, ""},
		{"__complete train room.yaml --set env.", []string{"env.minutes=\t30 (1 to 1440)", "env.power=\t3"}, ""},
		{"__complete train room.yaml --set agent.", []string{"agent.steps=\t60", "agent.width=\t0.2"}, ""},
		{"__complete envs example", []string{RoomID + "\tkeep a room"}, ""},
		{"__complete eval runs/room-s1 th", []string{"thermostat\tfull power"}, ""},
		{"__complete suite th", []string{"thermostats\ttwo thermostats"}, ""},
	} {
		code, out, errs := stoker(c.line)
		if code != 0 {
			t.Fatalf("stoker %s: exit %d: %s%s", c.line, code, out, errs)
		}
		for _, want := range c.out {
			if !strings.Contains(out, want) {
				t.Errorf("stoker %s: no %q in\n%s", c.line, want, out)
			}
		}
		if c.file != "" {
			if _, err := os.Stat(filepath.FromSlash(c.file)); err != nil {
				t.Errorf("stoker %s: %v", c.line, err)
			}
		}
	}
	var summary struct {
		Env      string
		Policies []struct{ Name, Kind string }
	}
	b, err := os.ReadFile(filepath.FromSlash("runs/room-s1/eval/eval.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &summary); err != nil {
		t.Fatal(err)
	}
	if summary.Env != RoomID || !slices.ContainsFunc(summary.Policies, func(p struct{ Name, Kind string }) bool {
		return strings.HasPrefix(p.Name, "thermostat") && p.Kind == "heuristic"
	}) {
		t.Errorf("eval.json has %+v, want the room and the thermostat", summary)
	}
}

// What is wrong is said with its line and what would be right, from the tags alone; what a command cannot do with a row
// is said as well.
func TestRefusals(t *testing.T) {
	text, err := os.ReadFile("room.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for old, c := range map[string]struct{ now, want string }{
		"minutes: 30": {"minutes: 0", "room.yaml:3: env.minutes is 0, want 1 to 1440"},
		"steps: 60":   {"stesp: 60", "did you mean steps?"},
		"name: climb": {"name: climp", `Did you mean "climb"?`},
		"Room-v1":     {"Rom-v1", `Did you mean "example/Room-v1"?`},
		"{name: thermostat, below: -1}": {"{name: thermostat, below: -21}",
			"eval.baselines[0].below is -21, want -20 to 20"},
	} {
		if err := os.WriteFile("room.yaml", []byte(strings.Replace(string(text), old, c.now, 1)), 0o666); err != nil {
			t.Fatal(err)
		}
		code, _, errs := stoker("train room.yaml")
		if code == 0 { // baselines are read where they are needed
			code, _, errs = stoker("eval runs/room-s1")
		}
		if code != 2 || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit %d: %s, want %q", c.now, code, errs, c.want)
		}
	}
	if err := os.WriteFile("room.yaml", text, 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := stoker("train room.yaml --engine torch"); code != 2 ||
		!strings.Contains(errs, "does not know the rows of example.com/room") {
		t.Errorf("the engine that is another program: exit %d: %s", code, errs)
	}
}

// Learners that come with Stoker train in the room, and explain says what their policies look at there.
func TestShippedLearner(t *testing.T) {
	text, err := os.ReadFile("maddpg.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("maddpg.yaml", text, 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := stoker("train maddpg.yaml --set train.steps=2000"); code != 0 {
		t.Fatal(errs)
	}
	code, out, errs := stoker("explain runs/maddpg-s1 --seeds 1-5 --states 50")
	if code != 0 || !strings.Contains(out, "inside") {
		t.Errorf("explain: exit %d: %s%s", code, out, errs)
	}
}

// Two rows of one name are refused before anything runs. Without its row the room is unknown.
func TestRows(t *testing.T) {
	for _, twice := range [][]workbench.Option{
		{workbench.Envs(room, room)}, {workbench.Learners(climb, climb)}, {workbench.Suites(thermostats, thermostats)},
		{workbench.Envs(room), workbench.Baselines(thermostat, thermostat)},
	} {
		if code := workbench.Run([]string{"version"}, twice...); code != 2 {
			t.Errorf("two rows of one name exit with %d, want 2", code)
		}
	}
	if code := workbench.Run([]string{"envs", RoomID}); code != 2 {
		t.Errorf("stoker envs %s exits with %d without its row, want 2", RoomID, code)
	}
}

func TestSuite(t *testing.T) {
	res, err := suite.Run(t.Context(), thermostats, suite.Options{Quick: true}, filepath.Join(t.TempDir(), "out"), suite.Made{})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Rows) != 2 || len(res.Comparisons) != 1 || res.Comparisons[0].Verdict != "better" {
		t.Errorf("%d rows and %+v, want two rows and a verdict: at 20 is better", len(res.Rows), res.Comparisons)
	}
}
