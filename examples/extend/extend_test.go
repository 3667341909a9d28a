package extend

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/cli"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/eval/suite"
)

// The room keeps the whole contract.
func TestRoomConforms(t *testing.T) {
	envtest.Run(t, func() (envs.Env, error) { return NewRoom(DefaultRoom()) }, envtest.Options{})
}

// The room does what it did when its trace was recorded (delete the file to record another: STOKER_RECORD=1).
func TestRoomGolden(t *testing.T) {
	record := os.Getenv("STOKER_RECORD") != ""
	envtest.Golden(t, "testdata/room.golden", record, func() (envs.Env, error) { return NewRoom(DefaultRoom()) })
}

const experiment = `name: room
env: {id: example/Room-v1, minutes: 30}
agent: {name: climb, steps: 15}
train: {steps: 600, copies: 2, log_every: 100, evaluate: {every: 200, episodes: 2}, checkpoint: {every: 200}}
eval: {seeds: 1-5, resamples: 200, rivals: [{name: thermostat, below: -1}]}
`

// Every command knows the rows: the learner is trained in the room, resumed to more steps, and compared with the rival.
func TestCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("room.yaml", []byte(experiment), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"envs " + RoomID + " --check", "agents", "train room.yaml", "resume runs/room-s1 --steps 800",
		"eval runs/room-s1 --out eval", "check runs/room-s1",
	} {
		if code := cli.Main(strings.Fields(line), Catalog()); code != 0 {
			t.Fatalf("stoker %s exits with %d", line, code)
		}
	}
	b, err := os.ReadFile(filepath.Join("eval", "eval.json"))
	if err != nil || !strings.Contains(string(b), `"thermostat"`) || !strings.Contains(string(b), RoomID) {
		t.Errorf("eval.json has neither the rival nor the room: %v", err)
	}
}

// A wrong value is reported with its line and what would be right, from the tags alone.
func TestBounds(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("room.yaml", []byte(strings.Replace(experiment, "minutes: 30", "minutes: 0", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	if code := cli.Main([]string{"train", "room.yaml"}, Catalog()); code != 2 {
		t.Errorf("minutes: 0 exits with %d, want 2", code)
	}
}

// Room and rival are unknown without their rows.
func TestRowsAreNotShared(t *testing.T) {
	if code := cli.Main([]string{"envs", RoomID}, nil); code != 2 {
		t.Errorf("stoker envs %s exits with %d without its row, want 2", RoomID, code)
	}
}

func TestSuite(t *testing.T) {
	res, err := suite.Run(t.Context(), Suite(), suite.Options{Quick: true}, filepath.Join(t.TempDir(), "out"), suite.Made{})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Rows) != 2 || len(res.Comparisons) != 1 || res.Comparisons[0].Verdict != "better" {
		t.Errorf("%d rows and %+v, want two rows and a verdict: at 20 is better", len(res.Rows), res.Comparisons)
	}
}
