package sweep

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train"
)

// proposerVar tells a copy of this test program to propose trials: what it says is how.
const proposerVar = "STOKER_TEST_PROPOSER"

func TestMain(m *testing.M) {
	if how := os.Getenv(proposerVar); how != "" {
		proposeAs(how)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// proposeAs is a proposer whose values depend on the sum of the scores that it was told. It answers wrongly where how is
// an answer.
func proposeAs(how string) {
	sum, n := 0.0, 0
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			Ask  int
			Tell []told
		}
		if json.Unmarshal(in.Bytes(), &m) != nil {
			os.Exit(3)
		}
		for _, t := range m.Tell {
			if t.Trial != n {
				os.Exit(4) // trials are told once, in their order
			}
			n++
			for _, v := range t.Values {
				sum += v
			}
		}
		for i := range m.Ask {
			if how != "well" {
				fmt.Println(how)
				continue
			}
			fmt.Printf("{\"agent.actor_rate\": %g, \"agent.hidden\": \"[%d]\"}\n", 1e-4*(1+float64(i)+sum/(sum+1)), 4+2*(i%2))
		}
	}
}

// proposed is a plan of five trials by batches of two, which are halved once.
func proposed(t *testing.T, how string) *Plan {
	t.Helper()
	p := plan(t, []uint64{1}, 5, "agent.actor_rate=log(1e-4,1e-1)", "agent.hidden=choice([4],[6])")
	p.Study = &Study{ScoreSeeds: "4001-4002", Metrics: []string{"cost"}, Halving: "20", Factor: 2, Batch: 2,
		Propose: fmt.Sprintf("cmd %s='%s' '%s'", proposerVar, how, os.Args[0])}
	return p
}

// A program that proposes sees the scores of all batches before, whoever was killed, and the study's bytes are the same
// for any number of jobs.
func TestPropose(t *testing.T) {
	alone := filepath.Join(t.TempDir(), "a")
	s := prepare(t, alone, proposed(t, "well"), false)
	must.Do(t, s.Run(t.Context(), Options{Jobs: 1, Train: fast}))
	if len(s.Batches) != 3 || len(s.Batches[2]) != 1 || len(s.Arms) != 5 || s.Batches[0][0] == s.Batches[1][0] {
		t.Fatalf("batches %q of %d arms", s.Batches, len(s.Arms))
	}
	want := left(t, alone)
	dir := filepath.Join(t.TempDir(), "b")
	stops := 0
	for after := 2; ; after += 3 {
		ctx, stop := context.WithCancelCause(context.Background())
		w := &stopper{after: after, stop: stop}
		s := prepare(t, dir, proposed(t, "well"), false)
		err := s.Run(ctx, Options{Jobs: 3, Out: func(Run) io.Writer { return w }, Train: train.Options{FS: fast.FS, LineEvery: time.Nanosecond}})
		if err == nil {
			break
		}
		if stops++; !errors.Is(err, errEnough) || stops > 50 {
			t.Fatal(err)
		}
	}
	if stops < 2 {
		t.Fatalf("stopped %d times, want several", stops)
	}
	same(t, "stopped and gone on", left(t, dir), want)

	// Another program under the same name is found out.
	s = must.Get(Open(alone, catalog.Default()))(t)
	s.Plan.Trials = 7
	s.Plan.Study.Propose = proposed(t, `{"agent.actor_rate": 0.05, "agent.hidden": "[4]"}`).Study.Propose
	if err := s.Run(t.Context(), Options{Jobs: 1, Train: fast}); err == nil || !strings.Contains(err.Error(), "where it proposed actor_rate-") {
		t.Errorf("another program: %v", err)
	}
}

// A wrong proposal ends the study with what is wrong; a study that is the same proposal over and over trains it once.
func TestProposals(t *testing.T) {
	for how, want := range map[string]string{
		"x":                         `trial 0 is "x", want a JSON object with the keys [agent.actor_rate, agent.hidden]`,
		`{"agent.actor_rate": 0.1}`: "without the key agent.hidden",
		`{"agent.actor_rate": 1, "agent.hidden": "[4]"}`:                 "has agent.actor_rate: 1, want a number of log(1e-4,0.1)",
		`{"agent.actor_rate": "0.1", "agent.hidden": "[4]"}`:             "want a number of log(1e-4,0.1)",
		`{"agent.actor_rate": 0.1, "agent.hidden": "[5]"}`:               "want one of [[4], [6]], as text",
		`{"agent.actor_rate": 0.1, "agent.hidden": "[4]", "agent.x": 1}`: "has the key agent.x, which is none of",
		`{"agent.actor_rate": 0.1, "agent.hidden": "[4]"}`:               "",
	} {
		s := prepare(t, filepath.Join(t.TempDir(), "a"), proposed(t, how), false)
		err := s.Run(t.Context(), Options{Jobs: 1, Train: fast})
		if want == "" {
			if err != nil || len(s.Arms) != 1 || len(s.Batches) != 3 {
				t.Errorf("the same proposal five times: %d arms in %d batches, %v", len(s.Arms), len(s.Batches), err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", how, err, want)
		}
	}
	p := proposed(t, "well")
	p.Study.Propose = "cmd exit 3"
	if err := prepare(t, filepath.Join(t.TempDir(), "a"), p, false).Run(t.Context(), Options{Jobs: 1, Train: fast}); err == nil ||
		!strings.Contains(err.Error(), "--propose cmd exit 3: it ") {
		t.Errorf("a program that ends: %v", err)
	}
	for how, want := range map[string]string{
		"optuna:tpee":               "did you mean tpe?",
		"haltom":                    "did you mean halton?",
		"optuna:tpe,n=x":            "want NAME=VALUE",
		"optuna:tpe,multivariate=1": "",
	} {
		p.Study.Propose = how
		if _, err := p.Arms(catalog.Default()); want == "" && err != nil || want != "" && (!errors.Is(err, train.ErrUsage) ||
			!strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", how, err, want)
		}
	}
}

// More trials leave Halton's earlier ones as they are, and the first ones are spread: of four, one in each quarter.
func TestHalton(t *testing.T) {
	p := study(t, func(s *Study) { s.Propose = Halton })
	p.Random[0] = must.Get(ParseRange("agent.gamma=uniform(0,1)"))(t)
	p.Trials = 32
	all := p.trials()
	p.Trials = 4
	quarters := map[string]bool{}
	for i, draw := range p.trials() {
		if draw[0] != all[i][0] {
			t.Errorf("trial %d is %v of 4 and %v of 32", i, draw, all[i])
		}
		var x float64
		must.Get(fmt.Sscan(draw[0].Value, &x))(t)
		quarters[fmt.Sprint(int(4*x))] = true
	}
	if len(quarters) != 4 {
		t.Errorf("four trials in the quarters %v", quarters)
	}
	if got := all[0][0].Value + " " + all[1][0].Value; got != haltonFirst {
		t.Errorf("the first trials are %s, want %s: stored studies would change", got, haltonFirst)
	}
}

const haltonFirst = "0.497 0.997"

// Optuna's own samplers propose through the bridge, and propose the same again.
func TestOptuna(t *testing.T) {
	python := os.Getenv(PythonVar)
	if python == "" {
		python = "python3"
	}
	if err := exec.Command(python, "-c", "import optuna, cmaes").Run(); err != nil {
		t.Skipf("%s has no optuna and cmaes; name one that has by %s", python, PythonVar)
	}
	p := proposed(t, "well")
	p.Study.Propose = optunaPrefix + "tpe,n_startup_trials=2"
	s := prepare(t, filepath.Join(t.TempDir(), "a"), p, false)
	must.Do(t, s.Run(t.Context(), Options{Jobs: 1, Train: fast}))
	if len(s.Batches) != 3 {
		t.Errorf("batches %q", s.Batches)
	}
	again := must.Get(s.startProposer(t.Context()))(t) // it compares
	again.close()
}
