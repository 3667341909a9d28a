package deeprm

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// recordedFile names the environment variable with the file of a longer recording by testdata/record.py; without it
// the kept one is read.
const recordedFile = "STOKER_DEEPRM"

// recordedForm and recordedEpisode are what testdata/record.py writes; it says how.
type recordedForm struct {
	Observation string            `json:"observation"`
	End         string            `json:"end"`
	Visible     int               `json:"visible"`
	Backlog     int               `json:"backlog"`
	MaxTime     int               `json:"max_time"`
	Episodes    []recordedEpisode `json:"episodes"`
}

type recordedEpisode struct {
	Jobs     [][]int   `json:"jobs"`
	Greys    []int     `json:"greys"`
	Actions  []int     `json:"actions"`
	Rewards  []float64 `json:"rewards"`
	Finished [][2]int  `json:"finished"`
	Seen     []byte    `json:"seen"`
}

// Under the published rules every episode that DeepRM's own code played is played again: each observation, each
// reward, the end, and when each job arrived and left.
func TestAsPublished(t *testing.T) {
	file := os.Getenv(recordedFile)
	if file == "" {
		file = "testdata/deeprm.json.gz"
	}
	f := must.Get(os.Open(file))(t)
	defer f.Close()
	z := must.Get(gzip.NewReader(f))(t)
	var recorded []recordedForm
	must.Do(t, json.NewDecoder(z).Decode(&recorded))
	episodes, steps, jobs, late, dropped, seen, worst := 0, 0, 0, 0, 0, 0, 0.0
	for _, form := range recorded {
		c := Published()
		c.Observation, c.End, c.Visible, c.Backlog, c.MaxTime = form.Observation, form.End, form.Visible, form.Backlog,
			form.MaxTime
		for i := range form.Episodes {
			c.Jobs = append(c.Jobs, form.Episodes[i].jobs())
		}
		e := must.Get(New(c))(t)
		for n := range form.Episodes {
			r := &form.Episodes[n]
			w, l := r.replay(t, e, n)
			worst, late, seen = max(worst, w), late+l, seen+len(r.Seen)
			episodes, steps, jobs, dropped = episodes+1, steps+len(r.Actions), jobs+len(r.Finished), dropped+e.tally.dropped
			if t.Failed() {
				t.Fatalf("in episode %d of %s, %s, %d places", n, form.Observation, form.End, form.Visible)
			}
		}
	}
	if late == 0 || dropped == 0 {
		t.Errorf("%d steps with jobs that overstay and %d dropped jobs were recorded, want some of each", late, dropped)
	}
	command := ""
	if os.Getenv(recordedFile) != "" {
		command = "python3 envs/deeprm/testdata/record.py DEEPRM bin/deeprm.json.gz 40; " +
			"STOKER_DEEPRM=../../bin/deeprm.json.gz go test ./envs/deeprm -run '^TestAsPublished$'"
	}
	proof.Claim(t, proof.Row{
		Topic: "environments",
		Claim: fmt.Sprintf("stoker/DeepRM-v1 under the published rules: %d episodes of DeepRM's own code (fa78411; %d "+
			"steps, %d jobs, %d numbers seen), images and compact", episodes, steps, jobs, seen),
		Bound: "every observation, end and finishing time equal, rewards to 1e-9",
		Measured: fmt.Sprintf("all equal, rewards within %.2g; %d steps with jobs that overstay, %d jobs dropped",
			worst, late, dropped),
		Holds:   !t.Failed() && worst <= 1e-9,
		Command: command,
	})
}

func (r *recordedEpisode) jobs() []Job {
	var jobs []Job
	for at, j := range r.Jobs {
		if j[0] > 0 {
			jobs = append(jobs, Job{At: at, Length: j[0], Demand: j[1:]})
		}
	}
	return jobs
}

// replay returns the largest difference of rewards and the number of steps after which a job was still there that had
// ended.
func (r *recordedEpisode) replay(t *testing.T, e *Env, set int) (worst float64, late int) {
	t.Helper()
	s := e.Spec()
	obs, act, out := envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)
	must.Do(t, e.Reset(1, envs.Options{"set": set}, obs))
	if p, ok := e.screen.(*picture); ok {
		for i, k := range r.Greys {
			p.levels[i] = float32(k) / float32(len(r.Greys)+1)
		}
	}
	r.compare(t, e, obs, 0)
	for i, a := range r.Actions {
		act.Kinds[0][0] = float32(a)
		must.Do(t, e.Step(act, obs, out))
		if end := out.Terminated || out.Truncated; end != (i == len(r.Actions)-1) {
			t.Fatalf("step %d: ended is %v", i, end)
		}
		reward := 0.0
		if out.Elapsed > 0 {
			reward = -float64(e.weight) / one
		}
		worst = max(worst, math.Abs(reward-r.Rewards[i]))
		if out.Rewards[0][0] != float32(reward) {
			t.Fatalf("step %d: reward %g, want %g", i, out.Rewards[0][0], reward)
		}
		for _, j := range e.active {
			if e.jobs[j].finish <= e.now {
				late++
				break
			}
		}
		r.compare(t, e, obs, i+1)
	}
	n := 0
	for at := range e.jobs {
		j := &e.jobs[at]
		if j.length == 0 || n < len(r.Finished) && r.Finished[n][0] != at {
			continue // none arrived, or it was dropped
		}
		if n == len(r.Finished) {
			continue
		}
		if want := r.Finished[n][1]; int(j.finish) != want && (want != -1 || j.finish != 0) {
			t.Errorf("job of step %d finishes in %d, want %d", at, j.finish, want)
		}
		n++
	}
	if n != len(r.Finished) {
		t.Errorf("%d jobs of %d are found", n, len(r.Finished))
	}
	return worst, late
}

func (r *recordedEpisode) compare(t *testing.T, e *Env, obs *envs.Observation, step int) {
	t.Helper()
	values := obs.Kinds[0].Values
	scale := float32(1)
	if e.c.Observation == Image {
		scale = 200
	}
	for i, b := range r.Seen[step*len(values) : (step+1)*len(values)] {
		if x := values[i] * scale; math.Abs(float64(x-float32(b))) > 1e-4 {
			t.Fatalf("observation %d: number %d is %g, want %d", step, i, x, b)
		}
	}
}

// Published returns [Default] with every rule as the published code has it: future starts are booked, nothing is
// masked, and all defects are there.
func Published() Config {
	c := Default()
	c.Start, c.Mask = StartEarliest, false
	c.Defects = Defects{SkipFirst: true, SkipLastStart: true, LateRemoval: true, FloorSlowdown: true}
	return c
}
