package library_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/sizing/library"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/realdata"
)

// newEnv makes a closed-loop environment of few windows.
func newEnv(change func(*sizing.Config)) func() (envs.Env, error) {
	c, w := sizing.Default(), workload.Default()
	w.Kind, c.Windows, c.Users = workload.ClosedLoop, 4, []int{10, 20}
	if change != nil {
		change(&c)
	}
	return func() (envs.Env, error) { return sizing.New(c, w) }
}

func open(t *testing.T, build func() (envs.Env, error)) *sizing.Env {
	t.Helper()
	e := must.Get(build())(t)
	s, ok := envs.As[*sizing.Env](e)
	if !ok {
		t.Fatalf("the environment is a %T", e)
	}
	return s
}

func made(t *testing.T, p library.Plan) *library.Library {
	t.Helper()
	l := must.Get(library.Make(context.Background(), p))(t)
	return l
}

func text(t *testing.T, l *library.Library) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, l.Write(&b))
	return b.String()
}

// A library is the same for any number of workers, and comes back from its file as it was, judged alike.
func TestMakeWriteRead(t *testing.T) {
	p := library.Plan{NewEnv: newEnv(nil), Rows: 22, Seed: 3, Low: 0.2, High: 0.9, Workers: 1}
	l := made(t, p)
	p.Workers = 3
	if a, b := text(t, l), text(t, made(t, p)); a != b {
		t.Error("three workers write another library than one")
	}
	p.Seed = 4
	if text(t, l) == text(t, made(t, p)) {
		t.Error("another seed gives the same library")
	}
	path := filepath.Join(t.TempDir(), "l.csv")
	must.Do(t, os.WriteFile(path, []byte(text(t, l)), 0o600))
	back := must.Get(library.Read(path))(t)
	if text(t, back) != text(t, l) || len(back.Digest) != 64 {
		t.Errorf("what was read is not what was written; digest %q", back.Digest)
	}
	env := open(t, p.NewEnv)
	rows := must.Get(back.Fit(env))(t)
	users := map[int]int{}
	for i, r := range rows {
		for k, x := range r.Info {
			if x != l.Rows[i].Info[k] {
				t.Errorf("row %d: %s is %g once judged, %g as made", i, l.Info[k].Name, x, l.Rows[i].Info[k])
			}
		}
		for _, a := range r.Action {
			if a < 0.2 || a > 0.9 {
				t.Errorf("row %d has a component %g outside the clip", i, a)
			}
		}
		users[r.Users]++
	}
	if users[10]+users[20] != 22 || users[10] == 0 || users[20] == 0 {
		t.Errorf("rows by users: %v", users)
	}
	// The quantities that follow from others are recomputed as the environment had them.
	for i, r := range rows {
		info := make([]float64, len(r.Info))
		copy(info, r.Info)
		for _, name := range []string{"price", "cost", "failed", "success", "cores", "memory", "refused"} {
			k := must.Get(env.Spec().InfoIndex(name))(t)
			if name == "failed" { // the environment counts ended requests, requests counts begun ones
				continue
			}
			info[k] = math.NaN()
		}
		env.Outcome(r.Action, info)
		for k := range info {
			if math.Abs(info[k]-r.Info[k]) > 1e-12*math.Abs(r.Info[k]) {
				t.Errorf("row %d: %s is %g, want %g", i, l.Info[k].Name, info[k], r.Info[k])
			}
		}
	}
}

// Rows that a policy makes have its actions, with noise within the clip.
func TestMakeWithPolicy(t *testing.T) {
	hold := func(env envs.Env) (envs.Policy, error) { return &holder{}, nil }
	l := made(t, library.Plan{NewEnv: newEnv(nil), Rows: 6, Seed: 1, Low: 0, High: 1, Policy: hold})
	for _, r := range l.Rows {
		for _, a := range r.Action {
			if a != 0.5 {
				t.Fatalf("the action is %v, want the policy's", r.Action)
			}
		}
	}
	l = made(t, library.Plan{NewEnv: newEnv(nil), Rows: 6, Seed: 1, Low: 0, High: 0.55, Policy: hold, Noise: 0.1})
	moved := false
	for _, r := range l.Rows {
		for _, a := range r.Action {
			moved = moved || a != 0.5
			if a > 0.55 {
				t.Fatalf("component %g is outside the clip", a)
			}
		}
	}
	if !moved {
		t.Error("there is no noise")
	}
}

type holder struct{ envs.Policy }

func (*holder) Reset(uint64) error { return nil }

func (*holder) Act(_ *envs.Observation, act *envs.Action, _ bool) error {
	for i := range act.Kinds[0] {
		act.Kinds[0][i] = 0.5
	}
	return nil
}

// Every bad file is refused with its line and column, and every library that does not fit with what is wrong.
func TestErrors(t *testing.T) {
	l := made(t, library.Plan{NewEnv: newEnv(nil), Rows: 4, Seed: 1, Low: 0, High: 1})
	good := text(t, l)
	header, rest, _ := strings.Cut(good, "\n")
	line := strings.Split(strings.Split(rest, "\n")[0], ",")
	with := func(column int, x string) string {
		bad := append([]string{}, line...)
		bad[column] = x
		return header + "\n" + strings.Join(bad, ",") + "\n"
	}
	for want, file := range map[string]string{
		"l.csv: is empty":                                "",
		"l.csv: has a header and no rows":                header + "\n",
		`l.csv:1: there is no column "users"`:            strings.Replace(good, ",users,", ",people,", 1),
		`l.csv:1: there is no column "action.starter.x"`: strings.Replace(good, "action.rgb.cpu", "action.rgb.x", 1),
		`l.csv:1: there is no column "price"`:            strings.Replace(good, ",price [", ",cheap [", 1),
		`l.csv:1: there are two columns "price"`:         strings.Replace(good, ",cost [USD]", ",price [USD]", 1),
		`l.csv:2: column 2 (users): is "-1"`:             with(1, "-1"),
		`l.csv:2: column 5 (action.starter.cpu [of its range]): is "1.5", want a number from 0 to 1`: with(4, "1.5"),
		`is "NaN", want a number`:                              with(30, "NaN"),
		`(price [USD/h]): is "-2", want a number of 0 or more`: with(len(line)-14, "-2"),
		"record on line 2: wrong number of fields":             header + "\n1,2\n",
		"the published file has 90 columns":                    "cpu-func1,x\n1,2\n",
	} {
		if _, err := library.Parse("l.csv", []byte(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	read, err := library.Parse("l.csv", []byte(good))
	must.Do(t, err)
	for want, env := range map[string]func() (envs.Env, error){
		"l.csv:2, column workflow: the row is of workflow parallel, want sequential": newEnv(func(c *sizing.Config) {
			c.Workflow = sizing.Sequential
		}),
		"none of its 4 rows keeps the thresholds of this environment": newEnv(func(c *sizing.Config) { c.QoS.Latency = 0.1 }),
		"l.csv:2: users is": func() (envs.Env, error) {
			return sizing.New(sizing.Default(), sizing.DefaultWorkload())
		},
	} {
		if _, err := read.Fit(open(t, env)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	less, err := library.Parse("l.csv", []byte(dropColumns(good, ".rejected ")))
	must.Do(t, err)
	_, err = less.Fit(open(t, newEnv(nil)))
	if want := `there is no feature "rejected" of the functions`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	// An environment that sees less takes what it needs.
	if _, err := less.Fit(open(t, newEnv(func(c *sizing.Config) { c.Features = sizing.PaperFeatures }))); err != nil {
		t.Error(err)
	}
	for want, p := range map[string]library.Plan{
		"rows is 0":      {NewEnv: newEnv(nil), High: 1},
		"clip is 0.5,0.": {NewEnv: newEnv(nil), Rows: 1, Low: 0.5, High: 0.4},
	} {
		if _, err := library.Make(context.Background(), p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// dropColumns leaves out the columns whose headers have a part.
func dropColumns(file, part string) string {
	lines := strings.Split(strings.TrimSpace(file), "\n")
	header := strings.Split(lines[0], ",")
	var out strings.Builder
	for _, l := range lines {
		var kept []string
		for i, x := range strings.Split(l, ",") {
			if !strings.Contains(header[i], part) {
				kept = append(kept, x)
			}
		}
		fmt.Fprintln(&out, strings.Join(kept, ","))
	}
	return out.String()
}

// FaaSConf's published file is a library of Parallel under 10 users: prices agree with the environment's, and as many
// rows are feasible as a count over the file says.
func TestPublished(t *testing.T) {
	l := must.Get(library.Read(filepath.Join(realdata.Dir(t), "faasconf", "parallel_10.csv")))(t)
	env := open(t, newEnv(func(c *sizing.Config) { c.Features = sizing.PaperFeatures }))
	rows := must.Get(l.Fit(env))(t)
	price := must.Get(env.Spec().InfoIndex("price"))(t)
	for i, r := range rows {
		p, err := env.PriceOf(&envs.Action{Kinds: [][]float32{r.Action}})
		if err != nil || math.Abs(p-r.Info[price]) > 1e-9 {
			t.Fatalf("row %d: its price is %g, the environment's is %g (%v)", i, r.Info[price], p, err)
		}
	}
	s := l.Summaries()
	if len(s) != 1 || s[0].Users != 10 || s[0].Rows < 1000 || s[0].Feasible < 0.4 || s[0].Feasible > 0.55 ||
		s[0].Cheapest == nil || *s[0].Cheapest < 3.5 || *s[0].Cheapest > 4.2 {
		t.Errorf("summary is %+v", s)
	}
	if _, err := l.Fit(open(t, newEnv(nil))); err == nil || !strings.Contains(err.Error(), "env.features: paper") {
		t.Errorf("got %v, want an error that names env.features", err)
	}
}

func TestBeforeAndPick(t *testing.T) {
	rows := []library.Row{{Users: 10, Seed: 1}, {Users: 20, Seed: 2}, {Users: 10, Seed: 1, Window: 1}, {Users: 10, Seed: 3}}
	if got := library.Before(rows, true); fmt.Sprint(got) != "[3 1 0 2]" {
		t.Errorf("fresh: %v", got)
	}
	if got := library.Before(rows, false); fmt.Sprint(got) != "[-1 -1 0 -1]" {
		t.Errorf("continuous: %v", got)
	}
	if got := library.Users(rows, 20); len(got) != 1 || got[0].Seed != 2 || len(rows) != 4 || rows[1].Users != 20 {
		t.Errorf("users 20: %v of %v", got, rows)
	}
	var many []library.Row
	for i := range 100 {
		many = append(many, library.Row{Window: i})
	}
	a, b := library.Pick(many, 40, 1), library.Pick(many, 40, 2)
	seen := map[int]bool{}
	for _, r := range a {
		seen[r.Window] = true
	}
	if len(seen) != 40 || fmt.Sprint(a) == fmt.Sprint(b) || fmt.Sprint(a) != fmt.Sprint(library.Pick(many, 40, 1)) || many[0].Window != 0 {
		t.Errorf("%d different rows of 40", len(seen))
	}
}
