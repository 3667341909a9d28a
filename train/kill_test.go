package train

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/rng"
)

// victimVar tells a copy of this test program to start the run in the folder of runs that it names, or to go on with it.
const victimVar = "STOKER_TEST_RUNS"

func TestMain(m *testing.M) {
	if runs := os.Getenv(victimVar); runs != "" {
		os.Exit(victim(runs))
	}
	os.Exit(m.Run())
}

// longer is a run that lasts long enough to be killed a few times.
const longer = `
name: longer
env: {id: stoker/LQR-v1, steps: 9}
agent: {name: maddpg, mix: single, hidden: [8], batch: 16, replay: 500, random_steps: 20, learning_starts: 30}
train: {steps: 4000, copies: 4, log_every: 50, evaluate: {every: 300, episodes: 2}, checkpoint: {every: 250, keep: 2}}
`

// victim runs to the end, unless it is killed.
func victim(runs string) int {
	x, err := configs.Parse("test.yaml", []byte(longer), nil, Tables())
	dir := filepath.Join(runs, "a")
	if err == nil {
		if _, e := os.Lstat(dir); e == nil {
			_, err = Resume(context.Background(), dir, options(""))
		} else {
			_, err = Start(context.Background(), x, options(runs))
		}
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// Processes are killed by SIGKILL at moments drawn by lot, on a real disk, and the run goes on each time in a new one.
func TestKilledAtAnyMoment(t *testing.T) {
	kills := 6
	if *long {
		kills = 200
	}
	began := time.Now()
	want := outcome(t, durable.OS{}, start(t, parse(t, longer)))
	lasts := time.Since(began) // about, and a process takes a while to begin
	stream := rng.NewStream(1, "moments")
	killed, runs := 0, 0
	for killed < kills {
		folder := t.TempDir()
		for through := false; !through; {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), victimVar+"="+folder)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			must(t, cmd.Start())
			done := make(chan error, 1)
			go func() { done <- cmd.Wait() }()
			select {
			case err := <-done:
				if err != nil {
					t.Fatalf("after %d kills: %v: %s", killed, err, out.Bytes())
				}
				through = true
			case <-time.After(time.Duration(stream.Float64() * float64(lasts))):
				if cmd.Process.Kill() == nil {
					killed++
				}
				<-done
			}
		}
		runs++
		dir := filepath.Join(folder, "a")
		same(t, fmt.Sprintf("run %d", runs), outcome(t, durable.OS{}, dir), want)
		sound(t, dir)
	}
	t.Logf("%d processes killed in %d runs", killed, runs)
}
