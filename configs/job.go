package configs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/envs/workflow/dags"
)

// Job is what a file of jobs of stages ([dags.Read]) does not say of an application.
type Job struct {
	// Name is the job's, such as tpch-9-2g; it may be empty where the file has one job.
	Name string
	// ExecutorMB is the memory of an executor.
	ExecutorMB float64
	// Tariff is as in [variants.App]: what an executor's memory costs while its stage runs.
	Tariff string
}

// IsJobs reports whether a file has jobs of stages: its name ends in .json and it has dags.
func IsJobs(path string) bool {
	text, err := os.ReadFile(path)
	return err == nil && strings.HasSuffix(path, ".json") && bytes.Contains(text, []byte(`"dags"`)) &&
		!bytes.Contains(text, []byte(`"StartAt"`))
}

// JobNames returns the names of a file's jobs.
func JobNames(path string) ([]string, error) {
	jobs, err := readJobs(path)
	var out []string
	for _, j := range jobs {
		out = append(out, j.Name)
	}
	return out, err
}

func readJobs(path string) ([]dags.Job, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	jobs, err := dags.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "dags: "))
	}
	return jobs, nil
}

// ReadJob reads a job as an application: each stage is a function whose memory is that of its executors. A stage can have
// as many executors as there are measured times for, and no more than it has tasks; its time is that of its waves of tasks on
// executors that are new to it, during all of which every executor is paid.
func ReadJob(path string, k Job) (*variants.Model, error) {
	jobs, err := readJobs(path)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(jobs, func(j dags.Job) bool { return j.Name == k.Name })
	switch {
	case i < 0 && k.Name == "" && len(jobs) == 1:
		i = 0
	case i < 0 && k.Name == "":
		return nil, fmt.Errorf("%s has %d jobs: name one, such as %s", path, len(jobs), jobs[0].Name)
	case i < 0:
		var names []string
		for _, j := range jobs[:min(len(jobs), 12)] {
			names = append(names, j.Name)
		}
		return nil, fmt.Errorf("%s has no job %q, it has %d: %s …", path, k.Name, len(jobs), strings.Join(names, ", "))
	case !(k.ExecutorMB >= 1 && k.ExecutorMB <= 1e6):
		return nil, fmt.Errorf("an executor has %g MB, want 1 to 1e6", k.ExecutorMB)
	}
	j := &jobs[i]
	a := variants.App{Name: j.Name, Workflow: j.Graph(), Tariff: k.Tariff,
		About: fmt.Sprintf("A job of %d stages from %s. MB is that of a stage's executors, %g each.", len(j.Stages), filepath.Base(path), k.ExecutorMB)}
	for n := range a.Workflow.Nodes {
		fn := variants.Function{Name: a.Workflow.Nodes[n].Name}
		if n == len(j.Stages) { // what leads to the stages that wait for none
			fn.Fixed = true
		} else {
			law := stageLaw(&j.Stages[n], k.ExecutorMB)
			fn.Memory, fn.Variants = variants.Sizes(law.MB...), []variants.Variant{{Law: law}}
		}
		a.Functions = append(a.Functions, fn)
	}
	m, err := a.Compile()
	if err != nil {
		return nil, fmt.Errorf("%s: job %s: %w", path, j.Name, err)
	}
	return m, nil
}

// stageLaw has a stage's times by the memory of its executors. More executors that are no faster are left out.
func stageLaw(s *dags.Stage, mb float64) variants.Law {
	executors := []int{1, min(s.Tasks, 100)}
	for _, list := range [][]dags.Duration{s.Fresh, s.First, s.Rest} {
		for _, d := range list {
			executors = append(executors, min(d.Executors, s.Tasks))
		}
	}
	slices.Sort(executors)
	law := variants.Law{Form: "table"}
	for _, e := range slices.Compact(executors) {
		t := s.Seconds(e, true)
		if n := len(law.Seconds); n == 0 || t < law.Seconds[n-1] {
			law.MB, law.Seconds = append(law.MB, mb*float64(e)), append(law.Seconds, t)
		}
	}
	return law
}
