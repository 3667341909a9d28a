package train

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/tools/proof"
)

var moments = flag.Int("kills", 200, "with -long, the number of processes to kill of each learner on each problem")

// Environment variables that tell a copy of this test program to start the run in the folder of runs that the first
// names, or to go on with it: its configuration, settings of the engine as in "workers=2 threads=8", and the step of the
// run by which it kills itself.
const (
	victimVar   = "STOKER_TEST_RUNS"
	victimText  = "STOKER_TEST_CONFIG"
	victimHands = "STOKER_TEST_HANDS"
	victimStep  = "STOKER_TEST_DIE_AT"
)

func TestMain(m *testing.M) {
	if runs := os.Getenv(victimVar); runs != "" {
		if err := victim(runs, os.Getenv(victimText), os.Getenv(victimHands)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// victim runs to the end, unless it is killed.
func victim(runs, text, settings string) error {
	var sets []string
	for _, h := range strings.Fields(settings) {
		sets = append(sets, "engine."+h)
	}
	dir := filepath.Join(runs, "a")
	if _, err := os.Lstat(dir); err != nil {
		x, err := configs.Parse("test.yaml", []byte(text), sets, catalog.Default())
		if err != nil {
			return err
		}
		_, err = Start(context.Background(), x, mortal(options(runs)))
		return err
	}
	// The numbers of workers and threads are in the folder's config.yaml: to change them it is edited.
	file := filepath.Join(dir, configFile)
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	x, err := configs.Parse(file, b, sets, catalog.Default())
	if err != nil {
		return err
	}
	if b, err = x.YAML(); err != nil {
		return err
	}
	if err := durable.WriteFile(fast{}, file, b); err != nil {
		return err
	}
	_, err = Resume(context.Background(), dir, mortal(options("")))
	return err
}

// mortal kills this process once the run has done the steps that victimStep says, at whatever it is then.
func mortal(o Options) Options {
	at, err := strconv.ParseInt(os.Getenv(victimStep), 10, 64)
	if err != nil {
		return o // it says none
	}
	o.Count = new(atomic.Int64)
	go func() {
		for o.Count.Load() < at {
			runtime.Gosched()
		}
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
	}()
	return o
}

// moment is when a process is killed: by itself at a step of the run, or by wait's return, where that is set.
type moment struct {
	step int64
	wait func(ended <-chan struct{})
}

// parallelism draws how many workers, threads and processors a process has.
func parallelism(s *rng.Stream) (workers, threads, processors int) {
	some := []int{1, 2, 8}
	return some[s.IntN(3)], some[s.IntN(3)], some[s.IntN(3)]
}

// killed counts what became of a combination's processes.
type killed struct {
	Name   string `json:"name"`
	Kills  int    `json:"kills"`
	Runs   int    `json:"runs"`
	Differ int    `json:"differ"`
}

// Processes are killed by SIGKILL at random moments, on a real disk, and the run is resumed each time in a new
// one, with another number of environment workers, threads and processors. The moments are steps of the run, with -long
// times.
func TestKilledAtAnyMoment(t *testing.T) {
	all, kills := combinations(), *moments
	if !*long {
		kills, all = 2, all[:2]
	}
	stream := rng.NewStream(1, "moments")
	var seen []killed
	total := killed{}
	for _, c := range all {
		k := killed{Name: c.name}
		text := c.longer()
		want := finished(t, parse(t, text))
		steps := parse(t, text).Train.Steps
		next := func() moment { return moment{step: 1 + int64(1.25*stream.Float64()*float64(steps))} } // one in five is none
		if *long {
			next = timed(t, text, stream)
		}
		for k.Kills < kills {
			folder := t.TempDir()
			for !spawn(t, folder, text, stream, next()) {
				k.Kills++
			}
			k.Runs++
			dir := filepath.Join(folder, "a")
			if d := differs(outcome(t, durable.OS{}, dir), want); d != "" {
				t.Errorf("%s: run %d: %s", c.name, k.Runs, d)
				k.Differ++
			}
			sound(t, dir)
			must.Do(t, os.RemoveAll(folder))
		}
		seen = append(seen, k)
		total.Kills += k.Kills
		total.Runs += k.Runs
		total.Differ += k.Differ
	}
	keepJSON(t, seen)
	proof.Claim(t, proof.Row{
		Topic: "resume",
		Claim: fmt.Sprintf(
			"every learner on sizing, CartPole and simple_spread (%d combinations), processes killed by SIGKILL at "+
				"random moments and resumed in "+
				"others with 1, 2 or 8 environment workers, threads and processors: last checkpoint, its name, best "+
				"and metrics.jsonl equal those of an uninterrupted run",
			len(seen),
		),
		Bound: fmt.Sprintf("0 differ, at least %d kills of each", kills),
		Measured: fmt.Sprintf("%d differ of %d runs, in which %d processes were killed", total.Differ, total.Runs,
			total.Kills),
		Holds: total.Differ == 0,
	})
}

// spawn begins the run in folder in a process of its own, or resumes it, and has it killed at a moment. It says
// whether the run came to its end before.
func spawn(t *testing.T, folder, text string, stream *rng.Stream, m moment) (through bool) {
	t.Helper()
	workers, threads, processors := parallelism(stream)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimVar+"="+folder, victimText+"="+text, "GOMAXPROCS="+strconv.Itoa(processors),
		fmt.Sprintf("%s=workers=%d threads=%d", victimHands, workers, threads))
	if m.step > 0 {
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", victimStep, m.step))
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	must.Do(t, cmd.Start())
	done := make(chan struct{})
	var err error
	go func() {
		err = cmd.Wait()
		close(done)
	}()
	if m.wait != nil {
		m.wait(done)
		_ = cmd.Process.Kill() // unless it has ended in the meantime
	}
	<-done
	if err != nil && cmd.ProcessState.Exited() {
		t.Fatalf("%v: %s", err, out.Bytes())
	}
	return err == nil
}
