package shipped

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/tools/proof"
	"github.com/stoker-rl/stoker/train"
)

// TestShipped: every entry opens, is small, matches its hashes, has the card that is made of it, and the configuration
// on the card is the one in the commands that remake it.
func TestShipped(t *testing.T) {
	list := must.Get(zoo.List())(t)
	if len(list) == 0 {
		t.Fatal("the zoo is empty")
	}
	for _, e := range list {
		t.Run(e.Name, func(t *testing.T) {
			ck := must.Get(zoo.Open(e.Name))(t)
			if err := e.Card.Check(ck); err != nil {
				t.Error(err)
			}
			page := must.Get(os.ReadFile(filepath.Join("../../checkpoints/zoo", e.Name, zoo.PageFile)))(t)
			if now, err := e.Card.Page(); err != nil || !bytes.Equal(now, page) {
				t.Errorf("%s is not what its %s makes (error %v): run stoker zoo card again", zoo.PageFile, zoo.CardFile, err)
			}
			if len(e.Card.Evaluations) == 0 || len(e.Card.Seeds) == 0 {
				t.Errorf("the card has %d evaluations and %d seeds, want both", len(e.Card.Evaluations), len(e.Card.Seeds))
			}
			for _, name := range []string{"/tmp", "/home", "/root"} {
				if bytes.Contains(page, []byte(name)) {
					t.Errorf("the card names the folder %s of some machine", name)
				}
			}
			remake(t, e.Card)
		})
	}
}

// remake checks that each training of a card has the card's configuration, but for the seed, and that the evaluations that
// follow are of a run that the commands before make, or of the policy itself.
func remake(t *testing.T, c *zoo.Card) {
	t.Helper()
	was, err := configs.Parse(zoo.CardFile, c.Config, nil, catalog.Default())
	must.Do(t, err)
	want := must.Get(was.YAML())(t)
	made := map[string]bool{zoo.Prefix + c.Name: true}
	for i, command := range c.Remake {
		words := strings.Fields(command)
		if len(words) < 3 || i == 0 && words[1] != "train" {
			t.Fatalf("command %d of the card is %q, want stoker train CONFIG first", i+1, command)
		}
		switch words[1] {
		case "train":
			if len(words) < 5 || words[3] != "--seed" {
				t.Fatalf("%q names no seed", command)
			}
			var sets []string
			for rest := words[5:]; len(rest) > 0; rest = rest[2:] {
				if len(rest) < 2 {
					t.Fatalf("%q ends in %q, want flags with values", command, rest)
				}
				if rest[0] == "--set" {
					sets = append(sets, rest[1])
				}
			}
			now := must.Get(configs.Load(words[2], sets, catalog.Default()))(t)
			if now.Seed, err = strconv.ParseUint(words[4], 10, 64); err != nil {
				t.Fatalf("%q names no seed: %v", command, err)
			}
			made["runs/"+train.Name(now)] = true
			now.Seed, now.Engine, now.Eval = was.Seed, was.Engine, was.Eval
			if got := must.Get(now.YAML())(t); !bytes.Equal(got, want) {
				t.Errorf("%q makes another configuration than the card's:\n%s\nwant\n%s", command, got, want)
			}
		case "eval":
			pattern := strings.Trim(words[2], "'")
			if !slices.ContainsFunc(slices.Collect(maps.Keys(made)), func(run string) bool {
				ok, err := path.Match(pattern, run)
				return ok && err == nil
			}) {
				t.Errorf("%q evaluates what no command before it makes: those make %v", command, made)
			}
		}
	}
}

// TestShippedAct: every entry plays an episode in the environment that it was trained for, and does there what it did
// when it came in.
func TestShippedAct(t *testing.T) {
	for _, name := range zoo.Names() {
		t.Run(name, func(t *testing.T) {
			ck := must.Get(train.OpenCheckpoint(zoo.Prefix + name))(t)
			x := must.Get(train.ReadExperiment(ck, nil, catalog.Default()))(t)
			env := must.Get(train.NewEnv(x, x.Eval.Split))(t)
			file := must.Get(train.ReadPolicy(ck))(t)
			a := must.Get(catalog.Default().Learner(file.Agent))(t)
			act := must.Get(engines.Open(engines.Native, engines.Options{Device: "cpu"}))(t)
			defer act.Close()
			p := must.Get(a.Open(file, env.Spec(), act))(t)
			ep := must.Get(rollout.NewRunner(env).Episode(rollout.Actor{Policy: p}, 1))(t)
			proof.Claim(t, proof.Row{Topic: "zoo", Claim: name + " opens from the binary and plays an episode",
				Bound:    "at least one step",
				Measured: "return of workload seed 1 as logged", Holds: ep.Length > 0})
			t.Logf("%s: %d steps, return %g", name, ep.Length, ep.Return)
		})
	}
}

// TestUnknown: a name that there is not is said, with those that there are.
func TestUnknown(t *testing.T) {
	for _, name := range []string{"", ".", "..", "nobody", "a/b"} {
		_, err := zoo.Open(name)
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), zoo.Names()[0]) {
			t.Errorf("%q: %v, want an error that lists the zoo", name, err)
		}
		if slices.Contains(zoo.Names(), name) {
			t.Errorf("%q is listed", name)
		}
	}
}
