package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/online"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/agents/safe"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/sizing/library"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/train"
)

// Online says how a checkpoint serves an application while it goes on learning.
type Online struct {
	// Names is the catalog that the checkpoint's configuration uses; nil is [catalog.Default].
	Names *catalog.Catalog
	// Checkpoint is a run, a checkpoint or zoo:NAME with a full checkpoint. Sets go over its configuration.
	Checkpoint string
	Sets       []string
	// Library fills the replay with Rows of its rows, those of Protocol.Users where it has any; all of its rows are
	// history for safe exploration. nil makes Rows windows by the checkpoint's policy with noise.
	Library *library.Library
	Rows    int
	// Protocol is the measurement; its Library is not used.
	Protocol Protocol
	// Serve is the budget of updates, Rule that of safe exploration.
	Serve online.Config
	Rule  safe.Rule
	// Bands is the file of bands that is read, where it exists, and written; empty is the one beside the checkpoint, "-"
	// is none.
	Bands string
	// Progress, where set, is told how many rows of a library that is made are done.
	Progress func(done, all int)
}

// DefaultOnline is FaaSConf's serving: 300 rows in the replay, 15 windows with safe exploration, without other warm-up.
func DefaultOnline(checkpoint string) Online {
	p := Default()
	p.Warm = 0
	r := safe.Default()
	r.MinHistory = 10
	return Online{Checkpoint: checkpoint, Rows: 300, Protocol: p, Serve: online.Default(), Rule: r}
}

// libraryNoise is the noise on a policy's configurations in a library that is made for it.
const libraryNoise = 0.1

// Server is a checkpoint ready to serve.
type Server struct {
	o       Online
	env     envs.Env
	sizing  *sizing.Env
	x       *configs.Experiment
	reviver *train.Reviver
	rows    []library.Row // in the environment's layout
	fill    []agents.Transition
	bands   safe.Bands
	path    string // of the file of bands, empty where there is none
	// Made says that the library was made for this.
	Made bool
}

// NewServer reads the checkpoint, the library and the bands.
func NewServer(ctx context.Context, o Online) (*Server, error) {
	c, err := train.OpenCheckpoint(o.Checkpoint)
	if err != nil {
		return nil, err
	}
	o.Serve.Windows = o.Protocol.Windows
	if o.Names == nil {
		o.Names = catalog.Default()
	}
	if err := learns(c, o.Names); err != nil {
		return nil, err
	}
	sets := append([]string{"env.windows=" + strconv.Itoa(o.Protocol.Windows), "agent.replay=" + strconv.Itoa(o.Rows)},
		o.Sets...)
	if u := o.Protocol.Users; u > 0 {
		sets = append(sets, "workload.kind=closed-loop", fmt.Sprintf("env.users=[%d]", u), "workload.draw.factor=[]",
			"workload.draw.traces=[]")
	}
	x, err := train.ReadExperiment(c, sets, o.Names)
	if err != nil {
		return nil, train.Usage("%w", err)
	}
	s := &Server{o: o, x: x, path: o.bandsPath(c)}
	if s.env, err = train.NewEnv(x, "test"); err != nil {
		return nil, err
	}
	if s.sizing, err = library.One(s.env); err != nil {
		return nil, train.Usage("%s: %w", c.Dir(), err)
	}
	if s.reviver, err = train.Revive(c, x); err != nil {
		return nil, err
	}
	if _, err := s.learner(0); err != nil { // before a library is made
		return nil, err
	}
	if err := s.stock(ctx); err != nil {
		return nil, err
	}
	return s, s.readBands()
}

// learns refuses a checkpoint whose learner cannot go on from single windows, by what it was trained with: settings for
// serving might not even be keys of another learner.
func learns(c *checkpoints.Checkpoint, names *catalog.Catalog) error {
	x, err := train.ReadExperiment(c, nil, names)
	if err != nil {
		return err
	}
	if !slices.Contains(sizing.IDs(), x.Env.Name) {
		return train.Usage("%s: it was trained in %s; only policies of %s serve online", c.Dir(), x.Env.Name,
			strings.Join(sizing.IDs(), " and "))
	}
	env, err := train.NewEnv(x, "train")
	if err != nil {
		return err
	}
	r, err := train.Revive(c, x)
	if err != nil {
		return err
	}
	_, err = r.Learner(env.Spec(), 0)
	return errors.Join(err, r.Close())
}

// Close frees memory.
func (s *Server) Close() error { return s.reviver.Close() }

// QoS are the thresholds of the windows.
func (s *Server) QoS() sizing.QoS { return s.sizing.Thresholds(s.o.Protocol.Users) }

// bandsPath is the file of bands: in the folder of the checkpoint's run, or beside a checkpoint that is in none.
func (o *Online) bandsPath(c *checkpoints.Checkpoint) string {
	switch {
	case o.Bands == "-":
		return ""
	case o.Bands != "":
		return o.Bands
	}
	all := filepath.Dir(c.Dir())
	if filepath.Base(all) == checkpoints.CheckpointsDir {
		return filepath.Join(filepath.Dir(all), "bands.json")
	}
	return c.Dir() + ".bands.json"
}

// stock fits the library, or makes one, and draws the rows that fill the replay.
func (s *Server) stock(ctx context.Context) error {
	l := s.o.Library
	if l == nil {
		s.Made = true
		first, err := s.learner(0)
		if err != nil {
			return err
		}
		p, err := first.Policy()
		if err != nil {
			return err
		}
		file, err := p.Export()
		if err != nil {
			return err
		}
		l, err = library.Make(ctx, library.Plan{
			NewEnv: func() (envs.Env, error) { return train.NewEnv(s.x, "train") }, Rows: s.o.Rows,
			Seed: rng.New(s.o.Protocol.Seed, "online: library").Uint64(), High: 1, Noise: libraryNoise,
			Policy:  func(env envs.Env) (envs.Policy, error) { return s.reviver.Open(file, env.Spec()) },
			Workers: runtime.GOMAXPROCS(0), Progress: s.o.Progress,
		})
		if err != nil {
			return err
		}
	}
	var err error
	if s.rows, err = l.Fit(s.sizing); err != nil {
		if s.Made {
			return fmt.Errorf("it was made by the checkpoint's policy with noise: %w; give a --library", err)
		}
		return err
	}
	own := s.rows
	if u := s.o.Protocol.Users; u > 0 && len(library.Users(s.rows, u)) > 0 {
		own = library.Users(s.rows, u)
	}
	all, err := train.RowTransitions(own, s.sizing)
	if err != nil {
		return err
	}
	draws := rng.NewStream(s.o.Protocol.Seed, "online: rows")
	for i := range min(s.o.Rows, len(all)) {
		k := i + draws.IntN(len(all)-i)
		all[i], all[k] = all[k], all[i]
	}
	s.fill = all[:min(s.o.Rows, len(all))]
	return nil
}

// readBands reads the file of bands, where it is there.
func (s *Server) readBands() error {
	if s.path == "" {
		return nil
	}
	text, err := durable.ReadFile(durable.OS{}, s.path, 1<<24)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.bands, err = safe.Decode(s.path, text); err != nil || s.o.Bands == "" {
		return err // the checkpoint's own file gets the bands of one application after the other
	}
	_, err = s.bands.Of(s.sizing.Workflow(), s.path)
	return err
}

func (s *Server) learner(seed uint64) (agents.Offline, error) {
	l, err := s.reviver.Learner(s.env.Spec(), seed)
	if err != nil {
		return nil, err
	}
	for i := range s.fill {
		if err := l.Take(&s.fill[i]); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// guard makes safe exploration with the library as history, and the file's bands over those made from it.
func (s *Server) guard(seed uint64) (*safe.Guard, error) {
	r := s.o.Rule
	r.History = max(r.History, len(s.rows)+s.o.Protocol.Windows)
	if r.LoadStep == 0 {
		if r.LoadStep = 0.25; s.sizing.Closed() { // requests/s, or one user
			r.LoadStep = 1
		}
	}
	g, err := Guarded(r, s.env.Spec(), s.rows, rng.NewStream(seed, "online: safe exploration"))
	if err == nil {
		g.Take(s.bands.For(s.sizing.Workflow()))
	}
	return g, err
}

// Guarded is safe exploration by a rule whose history is rows of a library in the layout of an environment.
func Guarded(rule safe.Rule, spec *envs.Spec, rows []library.Row, draws *rng.Stream) (*safe.Guard, error) {
	at, err := Places(spec, "load", "price", "violated")
	if err != nil {
		return nil, err
	}
	g := safe.New(rule, len(rows[0].Action), draws)
	for i := range rows {
		x := rows[i].Info
		g.Observe(x[at["load"]], x[at["price"]], x[at["violated"]] != 0, rows[i].Action)
	}
	g.Settle()
	return g, nil
}

// Tuner makes the tuner that serves, with safe exploration or without.
func (s *Server) Tuner(safely bool) (*online.Tuner, error) {
	setup := online.Setup{Name: "without safe exploration", Env: s.env, Learner: s.learner}
	if safely {
		setup.Name, setup.Guard = "with safe exploration", s.guard
	}
	return online.New(s.o.Serve, setup)
}

// Run serves under the protocol. With safe exploration it writes the bands of the last repetition.
func (s *Server) Run(ctx context.Context, safely bool) (*Result, error) {
	t, err := s.Tuner(safely)
	if err != nil {
		return nil, err
	}
	r, err := Run(ctx, s.env, rollout.Actor{Tuner: t}, s.o.Protocol)
	if err != nil || s.path == "" || !safely {
		return r, err
	}
	app := s.sizing.Workflow()
	text, err := s.bands.With(app, t.Guard().Bands(app)).Encode()
	if err != nil {
		return nil, err
	}
	return r, durable.WriteFile(durable.OS{}, s.path, text)
}

// baselineRows is the number of the library's rows with which a baseline's search warms up.
const baselineRows = 40

// Baseline measures a baseline of the catalog, with its defaults, under the same protocol: a search warms up with 40 rows of the
// same library, and faces the same draws.
func (s *Server) Baseline(ctx context.Context, name string) (*Result, error) {
	r, err := s.o.Names.Baseline(name)
	if err != nil {
		return nil, train.Usage("%w", err)
	}
	a, err := r.New(r.Config(), s.env)
	if err != nil {
		return nil, err
	}
	p := s.o.Protocol
	if a.Tuner != nil {
		p.Warm, p.Library = baselineRows, s.rows
		if len(p.rows()) == 0 {
			p.Warm = 0
		}
	}
	return Run(ctx, s.env, a, p)
}

// Title is a line for figures, About says what is served and with which rows.
func (s *Server) Title() string {
	load := "arrivals"
	if u := s.o.Protocol.Users; u > 0 {
		load = fmt.Sprintf("%d users", u)
	} else if s.sizing.Closed() {
		load = "the checkpoint's users"
	}
	return fmt.Sprintf("%s under %s: %d windows, %d repetitions", s.sizing.Workflow(), load, s.o.Protocol.Windows,
		s.o.Protocol.Repetitions)
}

// About says what was served, and where the rows of the replay come from.
func (s *Server) About() string {
	from := "the library"
	if s.Made {
		from = "windows of the checkpoint's policy with noise"
	}
	return fmt.Sprintf("%s; the replay began with %d rows of %s", s.Title(), len(s.fill), from)
}

// BandsFile is where the bands are, empty where there are none.
func (s *Server) BandsFile() string { return s.path }
