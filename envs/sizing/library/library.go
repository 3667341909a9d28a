// Package library holds libraries of runs of the sizing environment: for each window the configuration that was deployed
// and what came of it. Searches warm up with them, learners learn from them without an environment, and safe exploration
// takes its ranges from them.
//
// Make runs configurations in an environment, Write and Read keep them as CSV, and Fit puts rows into the layout of an
// environment, under whose thresholds they are judged again. The measurements that FaaSConf's authors published
// (parallel_10.csv) are read as such a library, too.
//
// Not here: learning from a library (package train), searching (packages eval/search and agents/online).
package library

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/rng"
)

// Row is one window.
type Row struct {
	// Workflow is the workflow's name. Users is the number of closed-loop users, 0 under arrivals.
	Workflow string
	Users    int
	// Seed is that of the episode, Window the window's number in it, from 0.
	Seed   uint64
	Window int
	// Action is the configuration, [functions, components], in [0, 1].
	Action []float32
	// Observation is what the agents see after the window, [functions, features].
	Observation []float32
	// Info holds the quantities that the environment reports, NaN where the source does not have one.
	Info []float64
}

// Column is the name and the unit of a number; the unit is empty for pure numbers.
type Column struct{ Name, Unit string }

// Layout says what the numbers of rows are.
type Layout struct {
	Functions []string
	// Actions and Features are those of one function, Info those of a window.
	Actions, Features, Info []Column
}

// LayoutOf returns the layout of an environment's rows.
func LayoutOf(e *sizing.Env) Layout {
	s := e.Spec()
	k := &s.Kinds[0]
	l := Layout{Functions: e.Functions()}
	for i, name := range k.Actions {
		l.Actions = append(l.Actions, Column{name, k.ActionUnits[i]})
	}
	for i, name := range k.Features {
		l.Features = append(l.Features, Column{name, k.FeatureUnits[i]})
	}
	for _, q := range s.Info {
		l.Info = append(l.Info, Column{q.Name, q.Unit})
	}
	return l
}

// index is the place of a quantity, −1 where there is none.
func (l *Layout) index(name string) int { return slices.IndexFunc(l.Info, named(name)) }

func named(name string) func(Column) bool { return func(c Column) bool { return c.Name == name } }

// One returns the environment of one workflow that env is, or that it wraps.
func One(env envs.Env) (*sizing.Env, error) {
	e, ok := envs.As[*sizing.Env](env)
	id := env.Spec().ID
	switch {
	case ok:
		return e, nil
	case slices.Contains(sizing.IDs(), id):
		return nil, fmt.Errorf("%s has several workflows side by side, want one: env.workflow=NAME and env.workflows=[] "+
			"(--workflow NAME)", id)
	}
	return nil, fmt.Errorf("a library holds runs of %s, not of %s", strings.Join(sizing.IDs(), " and "), id)
}

// Library is what a file holds.
type Library struct {
	Layout
	Rows []Row
	// Path is where it was read, Digest the SHA-256 of the file, in hex; both empty for one made in memory.
	Path, Digest string
	// lines are those of the rows in the file.
	lines []int
}

// where names row i in errors.
func (l *Library) where(i int) string {
	if i < len(l.lines) {
		return fmt.Sprintf("%s:%d", l.Path, l.lines[i])
	}
	return fmt.Sprintf("row %d", i)
}

// Fit returns the rows in the layout of env, judged by its thresholds. Rows of another workflow and features that the
// library lacks are errors; columns that env does not know are left out. There must be a feasible row.
func (l *Library) Fit(env *sizing.Env) ([]Row, error) {
	want := LayoutOf(env)
	if err := l.sameWorkflow(env.Workflow(), want.Functions); err != nil {
		return nil, err
	}
	name := func(c Column) string { return c.Name }
	actions, err := l.places("action", names(l.Actions, name), names(want.Actions, name))
	if err != nil {
		return nil, err
	}
	features, err := l.places("feature", names(l.Features, name), names(want.Features, name))
	if err != nil {
		return nil, fmt.Errorf("%w; env.features: paper needs the fewest", err)
	}
	functions, err := l.places("function", l.Functions, want.Functions)
	if err != nil {
		return nil, err
	}
	out := make([]Row, len(l.Rows))
	feasible := false
	for i, r := range l.Rows {
		closed := r.Users > 0
		if closed != env.Closed() {
			return nil, fmt.Errorf("%s: users is %d, but the load of %s is %s", l.where(i), r.Users, env.Spec().ID,
				map[bool]string{true: "closed-loop users (workload.kind: closed-loop)", false: "arrivals, for which it is 0"}[env.Closed()])
		}
		x := Row{Workflow: env.Workflow(), Users: r.Users, Seed: r.Seed, Window: r.Window}
		for _, f := range functions {
			for _, c := range actions {
				x.Action = append(x.Action, r.Action[f*len(l.Actions)+c])
			}
			for _, c := range features {
				x.Observation = append(x.Observation, r.Observation[f*len(l.Features)+c])
			}
		}
		for _, q := range want.Info {
			v := math.NaN()
			if c := l.index(q.Name); c >= 0 {
				v = r.Info[c]
			}
			x.Info = append(x.Info, v)
		}
		env.Outcome(x.Action, x.Info)
		if err := env.Judge(x.Users, 0, x.Info, nil); err != nil {
			return nil, err
		}
		feasible = feasible || x.Info[want.index("violated")] == 0
		out[i] = x
	}
	if !feasible {
		return nil, fmt.Errorf("%s: none of its %d rows keeps the thresholds of this environment (env.qos, for %s: %s); want "+
			"one at least", cmp.Or(l.Path, "the library"), len(out), env.Workflow(), l.thresholds(env))
	}
	return out, nil
}

// sameWorkflow refuses rows of another workflow, and another graph of the same name.
func (l *Library) sameWorkflow(want string, functions []string) error {
	for i, r := range l.Rows {
		if r.Workflow != want {
			return fmt.Errorf("%s, column workflow: the row is of workflow %s, want %s (env.workflow)", l.where(i), r.Workflow,
				want)
		}
	}
	have, need := slices.Sorted(slices.Values(l.Functions)), slices.Sorted(slices.Values(functions))
	if !slices.Equal(have, need) {
		return fmt.Errorf("%s:1: the functions are %s, but those of the environment's workflow %s are %s", l.Path,
			strings.Join(l.Functions, ", "), want, strings.Join(functions, ", "))
	}
	return nil
}

// places finds each of want in have.
func (l *Library) places(what string, have, want []string) ([]int, error) {
	out := make([]int, len(want))
	for i, name := range want {
		if out[i] = slices.Index(have, name); out[i] < 0 {
			return nil, fmt.Errorf("%s:1: there is no %s %q of the functions, which the environment has; the file's are %s",
				l.Path, what, name, strings.Join(have, ", "))
		}
	}
	return out, nil
}

func (l *Library) thresholds(env *sizing.Env) string {
	var users []int
	for _, r := range l.Rows {
		if !slices.Contains(users, r.Users) {
			users = append(users, r.Users)
		}
	}
	slices.Sort(users)
	var out []string
	for _, u := range users {
		q := env.Thresholds(u)
		t := fmt.Sprintf("at most %g s", q.Latency)
		if u > 0 && q.Count > 0 {
			t += fmt.Sprintf(", at least %d successes", q.Count)
		}
		if q.Success > 0 {
			t += fmt.Sprintf(", a share of at least %g", q.Success)
		}
		if u > 0 {
			t = fmt.Sprintf("%d users: %s", u, t)
		}
		out = append(out, t)
	}
	return strings.Join(out, "; ")
}

func names[T any](list []T, of func(T) string) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = of(x)
	}
	return out
}

// Outcome returns a row as what a tuner is told: the action and the outcome of a window. The slices are the row's.
func (r *Row) Outcome(s *envs.Spec) (*envs.Action, *envs.Outcome) {
	return &envs.Action{Kinds: [][]float32{r.Action}},
		&envs.Outcome{Rewards: [][]float32{make([]float32, s.Kinds[0].Agents)}, Elapsed: int64(sizing.Window), Info: r.Info}
}

// Users returns the rows of a number of closed-loop users.
func Users(rows []Row, users int) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Users != users })
}

// Pick draws n rows without replacement, all where there are not more, in a random order that follows from seed.
func Pick(rows []Row, n int, seed uint64) []Row {
	out := slices.Clone(rows)
	s := rng.NewStream(seed, "library: rows")
	n = min(n, len(out))
	for i := range n {
		k := i + s.IntN(len(out)-i)
		out[i], out[k] = out[k], out[i]
	}
	return out[:n]
}

// Before says for each row which one it follows, −1 where that is not known. Where every window is a new deployment
// (fresh), windows do not depend on each other, and a row follows the one before it with as many users, the first of
// them the last. Else it follows the window before of the same episode.
func Before(rows []Row, fresh bool) []int {
	out := make([]int, len(rows))
	last := map[int]int{}
	for i, r := range rows {
		out[i] = -1
		k, ok := last[r.Users]
		if ok && (fresh || rows[k].Seed == r.Seed && rows[k].Window == r.Window-1) {
			out[i] = k
		}
		last[r.Users] = i
	}
	if fresh {
		for i, r := range rows {
			if out[i] < 0 {
				out[i] = last[r.Users]
			}
		}
	}
	return out
}

// Summary says what a library holds of a number of users. Prices are in USD/h.
type Summary struct {
	Workflow string `json:"workflow"`
	Users    int    `json:"users"`
	Rows     int    `json:"rows"`
	// Feasible is the share of rows that keep the thresholds.
	Feasible float64 `json:"feasible"`
	Low      float64 `json:"price_low"`
	Mean     float64 `json:"price_mean"`
	High     float64 `json:"price_high"`
	// Cheapest is the price of the cheapest feasible row, nil where none is; Row is its number in the file, from 1.
	Cheapest *float64 `json:"cheapest_feasible"`
	Row      int      `json:"cheapest_row,omitempty"`
}

// Summaries sums the library up by workflow and users. Whether a row is feasible says the file's column violated; for
// files without one, as FaaSConf's, the thresholds of their workflow and users do ([sizing.Thresholds]).
func (l *Library) Summaries() []Summary {
	violated := l.index("violated")
	latency, successes := l.index("latency"), l.index("successes")
	return Summarise(l.Rows, l.index("price"), func(r *Row) bool {
		if violated >= 0 {
			return r.Info[violated] == 0
		}
		q, _ := sizing.Thresholds(r.Workflow, r.Users)
		return r.Info[latency] <= q.Latency && r.Info[successes] >= float64(q.Count)
	})
}

// Summarise sums up rows by workflow and users, in the order of users. price is the place of the price in Info.
func Summarise(rows []Row, price int, feasible func(r *Row) bool) []Summary {
	var out []Summary
	for i := range rows {
		r := &rows[i]
		k := slices.IndexFunc(out, func(s Summary) bool { return s.Users == r.Users && s.Workflow == r.Workflow })
		if k < 0 {
			k = len(out)
			out = append(out, Summary{Workflow: r.Workflow, Users: r.Users, Low: math.Inf(1), High: math.Inf(-1)})
		}
		s, x := &out[k], r.Info[price]
		s.Rows++
		s.Mean += x
		s.Low, s.High = min(s.Low, x), max(s.High, x)
		if feasible(r) {
			s.Feasible++
			if s.Cheapest == nil || x < *s.Cheapest {
				s.Cheapest, s.Row = &x, i+1
			}
		}
	}
	for i := range out {
		out[i].Mean /= float64(out[i].Rows)
		out[i].Feasible /= float64(out[i].Rows)
	}
	slices.SortStableFunc(out, func(a, b Summary) int { return cmp.Compare(a.Users, b.Users) })
	return out
}
