package steps

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/envs/workflow/dags"
)

// TPCHFile is where the TPC-H jobs lie in a folder of published data.
const TPCHFile = "dags/tpch_dags_summary.json"

// ReadTPCH reads TPC-H queries as workflows: a stage is a step. dir is the folder of published data or the file itself;
// empty is the folder that STOKER_DATA names. Its jobs are those on which Decima was trained: 22 queries on seven sizes
// of data, with task times on Spark by number of executors. An executor counts as a process with a whole core, and half
// a core takes twice the time. Reading and writing are in those times, so that the steps have no transfers.
func ReadTPCH(dir string) ([]App, error) {
	if dir == "" {
		if dir = os.Getenv("STOKER_DATA"); dir == "" {
			return nil, fmt.Errorf("the workflows tpch are measured jobs that do not come with Stoker: name the folder with " +
				TPCHFile + " in data or in the variable STOKER_DATA")
		}
	}
	file := dir
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		file = filepath.Join(dir, filepath.FromSlash(TPCHFile))
	}
	f, err := os.Open(file)
	if err != nil {
		if os.IsNotExist(err) {
			err = fs.ErrNotExist
		}
		return nil, fmt.Errorf("%s with the workflows tpch cannot be read: %w", file, err)
	}
	defer f.Close()
	jobs, err := dags.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "dags: "))
	}
	out := make([]App, len(jobs))
	for i := range jobs {
		out[i] = ofJob(&jobs[i])
	}
	return out, nil
}

// ofJob returns a job as a workflow.
func ofJob(j *dags.Job) App {
	a := App{Name: j.Name, Platform: AWS, Workflow: j.Graph(),
		About: fmt.Sprintf("TPC-H query %d on %s of data, with task times measured on Spark.", j.Query, j.Size)}
	for k, node := range a.Workflow.Nodes {
		s := StepConfig{Name: node.Name}
		if k < len(j.Stages) {
			s.Tasks, s.Law = j.Stages[k].Tasks, ofStage(&j.Stages[k])
		}
		a.Steps = append(a.Steps, s)
	}
	return a
}

// ofStage is the law of a stage: where executors have n tasks each, there are as many as that needs.
func ofStage(s *dags.Stage) (l Law) {
	for n := 1; ; n = max(n+1, n*5/4) {
		n = min(n, s.Tasks)
		l.Tasks = append(l.Tasks, n)
		l.Seconds = append(l.Seconds, s.Seconds((s.Tasks+n-1)/n, true))
		if n == s.Tasks {
			break
		}
	}
	// With fewer executors a task can be quicker, since they disturb each other less, but a whole stage cannot: a
	// quicker stage is noise.
	for i := 1; i < len(l.Seconds); i++ {
		l.Seconds[i] = max(l.Seconds[i], l.Seconds[i-1])
	}
	l.Seconds = slices.Clip(l.Seconds)
	return l
}

// TPCH returns the one of some jobs with a name such as tpch-9-20g.
func TPCH(apps []App, name string) (App, error) {
	i := slices.IndexFunc(apps, func(a App) bool { return a.Name == name })
	if i < 0 {
		return App{}, fmt.Errorf("there is no workflow %q, want tpch-QUERY-SIZE, such as %s", name, apps[0].Name)
	}
	return apps[i], nil
}
