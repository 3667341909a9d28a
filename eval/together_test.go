package eval

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/foreign"
	"github.com/stoker-rl/stoker/internal/must"
)

// apart lets a policy for one episode act in all at once: one for each place.
type apart struct {
	make   func() envs.Policy
	at     map[int]envs.Policy
	widest int
	each   func(turns []foreign.Turn) error
}

func (a *apart) Act(_ context.Context, turns []foreign.Turn) error {
	a.widest = max(a.widest, len(turns))
	for _, t := range turns {
		if t.Step == 0 {
			a.at[t.Slot] = a.make()
			if err := a.at[t.Slot].Reset(0); err != nil {
				return err
			}
		}
		if err := a.at[t.Slot].Act(t.Seen, t.Act, true); err != nil {
			return err
		}
	}
	if a.each != nil {
		return a.each(turns)
	}
	return nil
}

func (*apart) Note() string { return "a note" }

func gains() *apart {
	return &apart{make: func() envs.Policy { return &gain{k: 0.5} }, at: map[int]envs.Policy{}}
}

// A policy that acts in all episodes at once plays the same episodes as one that plays them one by one, steps and
// samples included, for any number of workers, and where there are more episodes than places.
func TestTogether(t *testing.T) {
	for _, workers := range []int{1, 3} {
		r := request()
		r.NewEnv, r.Workers, r.Seeds = newSampled, workers, seeds(mostTogether+9)
		all := gains()
		r.Contestants = []Contestant{
			{Name: "one by one", Kind: catalog.Learned, Versions: policy(func() *gain { return &gain{k: 0.5} })},
			{Name: "together", Kind: catalog.Learned, Foreign: true, Versions: []Version{{Together: all, Source: "cmd:x"}}},
		}
		p := run(t, r)
		if !reflect.DeepEqual(p.Episodes[0], p.Episodes[1]) || !reflect.DeepEqual(p.Steps[0], p.Steps[1]) ||
			!reflect.DeepEqual(p.Samples[0], p.Samples[1]) || len(p.Samples[0]) == 0 {
			t.Errorf("%d workers: together it plays other episodes", workers)
		}
		if all.widest != mostTogether {
			t.Errorf("%d episodes were under way at once, want %d", all.widest, mostTogether)
		}
		s := summary(t, p)
		text := Text(s)
		for _, want := range []string{"training budget that is not known: together", "together: a note", "scope of the verdicts on together: this checkpoint"} {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
	}
}

// A policy from elsewhere that fails in the middle is out, whoever it is first noticed by; the others' results stay.
func TestOut(t *testing.T) {
	errNow := errors.New("it ended: exit status 3")
	alone := request()
	alone.Contestants = alone.Contestants[:2]
	want := run(t, alone)
	for name, c := range map[string]struct {
		version Version
		reason  string
		step    int
		seed    uint64
	}{
		"of all": {Version{Together: func() Together {
			a := gains()
			a.each = func(turns []foreign.Turn) error {
				if turns[0].Step == 5 {
					return &foreign.Failure{Turn: 0, Err: errNow}
				}
				return nil
			}
			return a
		}()}, "exit status 3", 5, 1},
		"of one": {Version{Together: func() Together {
			a := gains()
			a.each = func(turns []foreign.Turn) error {
				if turns[3].Step == 4 {
					turns[3].Act.Kinds[0][0] = 99
				}
				return nil
			}
			return a
		}()}, "component 0 is 99", 4, 4},
		"one by one": {policy(func() *gain {
			return &gain{each: func(step int) error {
				if step == 7 {
					return errNow
				}
				return nil
			}}
		})[0], "exit status 3", 7, 1},
	} {
		for _, workers := range []int{1, 4} {
			r := request()
			r.Workers = workers
			c.version.Source = "mine.onnx"
			r.Contestants = []Contestant{r.Contestants[0], {Name: "mine", Kind: catalog.Learned, Foreign: true, Versions: []Version{c.version}},
				r.Contestants[1]}
			p := run(t, r)
			if len(p.Out) != 1 || p.Out[0].Seed != c.seed || p.Out[0].Step != c.step || !strings.Contains(p.Out[0].Reason, c.reason) ||
				p.Out[0].Policy != "mine" || !reflect.DeepEqual(p.Episodes, want.Episodes) || !reflect.DeepEqual(p.Steps, want.Steps) {
				t.Errorf("%s: %+v; the others' episodes are the same: %v", name, p.Out, reflect.DeepEqual(p.Episodes, want.Episodes))
			}
			s := summary(t, p)
			if text := Text(s); !strings.Contains(text, "mine is out, from workload seed ") || !strings.Contains(Markdown(s), "mine is out") {
				t.Errorf("%s: not told in\n%s", name, text)
			}
			if workers == 1 { // the files of one are enough: the episodes are the same
				dir := t.TempDir()
				must.Do(t, Write(dir, p, s, nil))
				if again := must.Get(ReadSummary(dir))(t); len(again.Out) != 1 || again.Out[0] != p.Out[0] {
					t.Errorf("%s: eval.json has %+v", name, again.Out)
				}
			}
			r.Contestants = r.Contestants[1:2]
			if _, err := Run(t.Context(), r); err == nil || !strings.Contains(err.Error(), "nobody is left") {
				t.Errorf("%s, alone: %v", name, err)
			}
		}
	}
}
