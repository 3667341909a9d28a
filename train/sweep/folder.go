package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/train"
)

// File is the file of a sweep's folder that tells what it is.
const File = "sweep.json"

// format is the version of sweep.json.
const format = 1

// maxFile bounds what is read of sweep.json.
const maxFile = 1 << 28

// Status is that of a run.
type Status string

// What a run can be. One that is waiting, stopped, running (where no process works on the sweep) or failed is carried
// out, from its latest checkpoint where it has one, when the sweep goes on.
const (
	Waiting  Status = "waiting"
	Running  Status = "running"
	Finished Status = "finished"
	Stopped  Status = "stopped"
	Failed   Status = "failed"
	Paused   Status = "paused" // at a rung of a study; it may go on
	Pruned   Status = "pruned" // at a rung of a study, for good
)

// Run is an arm's run with one seed.
type Run struct {
	Seed uint64 `json:"seed"`
	// Folder is the run folder's name within the sweep's.
	Folder string `json:"folder"`
	Status Status `json:"status"`
	// Error says why it failed.
	Error string `json:"error,omitempty"`
	// Scores are those of a study, a rung after the other.
	Scores []Score `json:"scores,omitempty"`
}

// Sweep is a sweep's folder.
type Sweep struct {
	// Dir is the folder's path.
	Dir  string
	Plan Plan
	Arms []Arm
	// Batches are the names of the arms that a study trains together, in the order in which they were proposed.
	Batches [][]string
	// Decisions are those of an asynchronous study, in their order. Decided says that there will be no more.
	Decisions []Decision
	Decided   bool

	names *catalog.Catalog
	mu    sync.Mutex // guards the runs of Arms, and the file, while runs are carried out
}

// description is sweep.json.
type description struct {
	Format  int        `json:"format"`
	Plan    *Plan      `json:"plan"`
	Arms    []Arm      `json:"arms"`
	Batches [][]string `json:"batches,omitempty"`
	// OrderDependent says that the decisions depend on the order in which scores arrived.
	OrderDependent bool       `json:"order_dependent,omitempty"`
	Decisions      []Decision `json:"decisions,omitempty"`
	Decided        bool       `json:"decided,omitempty"`
	// Checksum is a study's own: see [checkpoints.Seal]. Its scores are in no other file.
	Checksum string `json:"crc32c,omitempty"`
}

// Is reports whether a folder is that of a sweep.
func Is(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, File))
	return err == nil && info.Mode().IsRegular()
}

// Open reads a sweep's folder. Each run's status is what its folder says, beside the error that is written down.
func Open(dir string, names *catalog.Catalog) (*Sweep, error) {
	s := &Sweep{Dir: filepath.Clean(dir), names: names}
	path := filepath.Join(s.Dir, File)
	if _, err := os.Stat(s.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil, train.Usage("there is no %s", dir)
	}
	b, err := durable.ReadFile(durable.OS{}, path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, train.Usage("%s is no sweep's folder: it has no %s", dir, File)
	}
	if err != nil {
		return nil, err
	}
	d := description{Plan: &s.Plan}
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, fmt.Errorf("%s: damaged or edited: %w", path, err)
	}
	if d.Format != format {
		return nil, fmt.Errorf("%s: its format is %d, this program reads %d", path, d.Format, format)
	}
	s.Arms, s.Batches, s.Decisions, s.Decided = d.Arms, d.Batches, d.Decisions, d.Decided
	if s.Plan.Study != nil {
		if err := errors.Join(checkpoints.CheckSeal(b), s.sound(d.Checksum)); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	for i := range s.Arms {
		for k := range s.Arms[i].Runs {
			if err := s.refresh(&s.Arms[i].Runs[k]); err != nil {
				return nil, err
			}
		}
	}
	s.targets() // it tells paused from pruned
	return s, nil
}

// refresh takes a run's status from its folder, where that knows better.
func (s *Sweep) refresh(r *Run) error {
	standing, err := train.ReadStanding(s.Folder(*r))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if r.Status != Failed {
			r.Status = Waiting
		}
	case err != nil:
		return err
	case standing.Finished():
		r.Status, r.Error = Finished, ""
	case standing.Paused() && r.Status == Failed && r.fails(): // a worker's run that failed stays where it was at the rung before
	case standing.Paused() && s.Plan.Study != nil:
		r.Status, r.Error = Paused, ""
	case r.Status != Failed && r.Status != Running:
		r.Status = Stopped
	}
	return nil
}

// Folder is the path of a run's folder.
func (s *Sweep) Folder(r Run) string { return filepath.Join(s.Dir, r.Folder) }

// FinishedRuns are the folders of a sweep's finished runs, in the order of its arms.
func FinishedRuns(dir string, names *catalog.Catalog) ([]string, error) {
	s, err := Open(dir, names)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, a := range s.Arms {
		for _, r := range a.Runs {
			if r.Status == Finished {
				out = append(out, s.Folder(r))
			}
		}
	}
	if len(out) == 0 {
		return nil, train.Usage("no run of the sweep %s is finished yet", dir)
	}
	return out, nil
}

// Experiment is what an arm's run with a seed trains.
func (s *Sweep) Experiment(a Arm, seed uint64) (*configs.Experiment, error) {
	x, err := s.Plan.Load(s.names, sets(a.Settings)...)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", s.Dir, a.Name, err)
	}
	x.Seed = seed
	return x, nil
}

// Base is the configuration over which the arms set values.
func (s *Sweep) Base() (*configs.Experiment, error) { return s.Plan.Load(s.names) }

// Steps are those of all runs together.
func (s *Sweep) Steps() (n int64) {
	for _, a := range s.Arms {
		n += a.Steps * int64(len(a.Runs))
	}
	return n
}

// done is the number of steps of the runs that are not among some targets.
func (s *Sweep) done(list []target) (n int64) {
	for i := range s.Arms {
		a := &s.Arms[i]
		for k := range a.Runs {
			r := &a.Runs[k]
			switch due := slices.ContainsFunc(list, func(t target) bool { return t.run == r }); {
			case due:
			case r.Status == Finished:
				n += a.Steps
			case len(r.Scores) > 0:
				n += r.Scores[len(r.Scores)-1].Steps
			}
		}
	}
	return n
}

// Runs is the number of runs, and of those that have a status.
func (s *Sweep) Runs(of Status) (all, with int) {
	for _, a := range s.Arms {
		all += len(a.Runs)
		for _, r := range a.Runs {
			if r.Status == of {
				with++
			}
		}
	}
	return all, with
}

// write writes sweep.json. It holds no times and nothing of how the sweep is carried out.
func (s *Sweep) write() error {
	d := description{Format: format, Plan: &s.Plan, Arms: s.Arms, Batches: s.Batches, Decisions: s.Decisions, Decided: s.Decided}
	if s.Plan.Study != nil {
		d.Checksum, d.OrderDependent = checkpoints.NoSeal, s.asynchronous()
	}
	b, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	b = append(b, '\n')
	if s.Plan.Study != nil {
		checkpoints.Seal(b)
	}
	path := filepath.Join(s.Dir, File)
	if durable.SameFile(durable.OS{}, path, b) {
		return nil
	}
	return durable.WriteFile(durable.OS{}, path, b)
}

var sweepName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// Prepare checks a plan and returns the sweep for a folder: a new one, or the one that is there where the plan is the
// same. Another plan is refused with what differs, unless extend adds its values, trials and seeds to those there.
// Prepare writes nothing.
func Prepare(dir string, p *Plan, names *catalog.Catalog, extend bool) (*Sweep, error) {
	if name := filepath.Base(dir); !sweepName.MatchString(name) {
		return nil, train.Usage("sweep name %q: want letters, digits, '.', '_' and '-', a letter or digit first", name)
	}
	fresh := &Sweep{Dir: filepath.Clean(dir), Plan: *p, names: names}
	var err error
	if fresh.Arms, err = p.Arms(names); err != nil {
		return nil, err
	}
	fresh.batch()
	if !Is(dir) {
		if err := free(dir); err != nil {
			return nil, err
		}
		if extend {
			return nil, train.Usage("--extend: there is no sweep in %s", dir)
		}
		return fresh, nil
	}
	old, err := Open(dir, names)
	if err != nil {
		return nil, err
	}
	differ, err := p.differences(&old.Plan, names)
	if err != nil {
		return nil, err
	}
	old.Plan.Metric = p.Metric
	if old.Plan.Study != nil && p.Study != nil {
		old.Plan.Study.Final = p.Study.Final
	}
	switch {
	case len(differ) == 0:
		return old, nil
	case !extend:
		return nil, train.Usage("%s is another sweep: %s; give another --name, go on with that one by: stoker resume %s, "+
			"or add values, trials and seeds to it with --extend", dir, strings.Join(differ, "; "), dir)
	}
	merged, err := p.extended(&old.Plan, names)
	if err != nil {
		return nil, err
	}
	return old.extend(merged)
}

// extend gives the sweep a larger plan, and keeps the status of the runs that it has.
func (s *Sweep) extend(p *Plan) (*Sweep, error) {
	had := map[string]Run{}
	for _, a := range s.Arms {
		for _, r := range a.Runs {
			had[r.Folder] = r
		}
	}
	arms, err := p.Arms(s.names)
	if err != nil {
		return nil, err
	}
	for i := range arms {
		for k, r := range arms[i].Runs {
			if old, ok := had[r.Folder]; ok {
				arms[i].Runs[k] = old
			}
		}
	}
	return &Sweep{Dir: s.Dir, Plan: *p, Arms: arms, names: s.names}, nil
}

// free refuses a folder that holds something else than the beginnings of a sweep.
func free(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	other := func(e fs.DirEntry) bool { return e.Name() != checkpoints.LockFile && !durable.Leftover(e.Name()) }
	if slices.ContainsFunc(entries, other) {
		return train.Usage("%s exists and is no sweep: give another --name", dir)
	}
	return nil
}
