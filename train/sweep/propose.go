package sweep

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/samplemv"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/train"
)

// Halton is the Propose that spreads trials evenly over all ranges together.
const Halton = "halton"

// What begins the Propose that runs Optuna, and any other program.
const (
	optunaPrefix  = "optuna:"
	programPrefix = "cmd "
)

// samplers are those of Optuna that the bridge knows.
var samplers = []string{"tpe", "cmaes", "nsga2", "nsga3", "gp", "qmc", "random"}

// PythonVar is the environment variable that names the Python with Optuna; without it it is python3.
const PythonVar = "STOKER_PYTHON"

//go:embed bridge.py
var bridge string

// Outside reports whether a program proposes, which sees the scores of the batches before.
func (s *Study) Outside() bool { return s != nil && s.Propose != "" && s.Propose != Halton }

// checkPropose reports what is wrong with how trials are proposed.
func (s *Study) checkPropose(p *Plan) error {
	switch {
	case s.Propose == "":
		return nil
	case len(p.Random) == 0:
		return train.Usage("--propose needs the ranges of --random, as in --random 'agent.actor_rate=log(1e-5,1e-2)' --trials 16")
	case s.Propose == Halton:
		return nil
	case len(p.Grid) > 0:
		return train.Usage("--propose %s proposes whole trials: give the keys of --grid as --random KEY=choice(…)", s.Propose)
	case s.Batch < 1:
		return train.Usage("--batch is %d, want at least 1: the number of trials that are proposed together", s.Batch)
	case strings.HasPrefix(s.Propose, programPrefix):
		return nil
	}
	_, _, err := s.optuna()
	return err
}

// optuna is the sampler of optuna:SAMPLER,OPTION=VALUE… and its options.
func (s *Study) optuna() (sampler string, options map[string]any, err error) {
	text, ok := strings.CutPrefix(s.Propose, optunaPrefix)
	words := strings.Split(text, ",")
	if !ok || !slices.Contains(samplers, words[0]) {
		hint := ""
		if near := configs.Nearest(strings.TrimPrefix(words[0], optunaPrefix), append(slices.Clone(samplers), Halton)); near != "" {
			hint = "; did you mean " + near + "?"
		}
		return "", nil, train.Usage("--propose is %q, want %s, optuna:SAMPLER with one of %s, or 'cmd PROGRAM …'%s", s.Propose, Halton,
			strings.Join(samplers, ", "), hint)
	}
	options = map[string]any{}
	for _, w := range words[1:] {
		k, v, _ := strings.Cut(w, "=")
		var value any
		if err := json.Unmarshal([]byte(v), &value); err != nil || k == "" {
			return "", nil, train.Usage("--propose has the option %q, want NAME=VALUE with a number, true or false, as in "+
				"optuna:tpe,n_startup_trials=5", w)
		}
		options[k] = value
	}
	return words[0], options, nil
}

// haltonTrials are the draws of a scrambled Halton sequence over all ranges: more trials leave the earlier ones as they are.
func (p *Plan) haltonTrials() [][]Setting {
	points := mat.NewDense(p.Trials, len(p.Random), nil)
	samplemv.Halton{Kind: samplemv.Owen, Q: distmv.NewUnitUniform(len(p.Random), nil), Src: rand.NewPCG(p.Seed, 0)}.Sample(points)
	out := make([][]Setting, p.Trials)
	for i := range out {
		for j, r := range p.Random {
			out[i] = append(out[i], Setting{r.Key, r.Law.at(points.At(i, j))})
		}
	}
	return out
}

// dimension is a range as proposers are told.
type dimension struct {
	Key    string   `json:"key"`
	Law    string   `json:"law"`
	Low    float64  `json:"low"`
	High   float64  `json:"high"`
	Values []string `json:"values,omitempty"`
}

// opening is the first line that a proposer reads.
type opening struct {
	Sampler    string         `json:"sampler"`
	Options    map[string]any `json:"options"`
	Seed       uint64         `json:"seed"`
	Trials     int            `json:"trials"`
	Metrics    []string       `json:"metrics"`
	Directions []string       `json:"directions"`
	Space      []dimension    `json:"space"`
}

// told is what became of a trial, counted from 0 in the order of proposals.
type told struct {
	Trial int `json:"trial"`
	// State is complete, pruned or fail.
	State  string    `json:"state"`
	Values []float64 `json:"values"`
	// Steps are pairs of steps and the score there, rung by rung.
	Steps [][2]float64 `json:"steps"`
}

// proposer is a program that proposes trials.
type proposer struct {
	name    string
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	errs    bytes.Buffer
	batches int // that it was told of
	trials  int // that it has proposed
}

// longestAnswer bounds a line of a proposer.
const longestAnswer = 1 << 16

// startProposer runs the program, tells it of the study, and goes with it over the batches that are there: a program that
// depends on what it reads alone is then where it was.
func (s *Sweep) startProposer(ctx context.Context) (*proposer, error) {
	t := s.Plan.Study
	o := opening{Seed: s.Plan.Seed, Trials: s.Plan.Trials, Metrics: t.Metrics, Options: map[string]any{}}
	p := &proposer{name: t.Propose}
	if program, ok := strings.CutPrefix(t.Propose, programPrefix); ok {
		p.command = exec.CommandContext(ctx, "sh", "-c", program)
	} else {
		var err error
		if o.Sampler, o.Options, err = t.optuna(); err != nil {
			return nil, err
		}
		python := os.Getenv(PythonVar)
		if python == "" {
			python = "python3"
		}
		p.command = exec.CommandContext(ctx, python, "-c", bridge)
	}
	for _, b := range t.Better {
		o.Directions = append(o.Directions, map[envs.Better]string{envs.Lower: "minimize", envs.Higher: "maximize"}[b])
	}
	for _, r := range s.Plan.Random {
		o.Space = append(o.Space, dimension{r.Key, r.Law.kind, r.Law.low, r.Law.high, r.Law.words})
	}
	p.command.Stderr = &p.errs
	var err error
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	// What a killed program has started may hold its output open.
	context.AfterFunc(ctx, func() { _ = out.Close() })
	p.command.WaitDelay = time.Second
	p.out = bufio.NewScanner(out)
	p.out.Buffer(nil, longestAnswer)
	if err := p.command.Start(); err != nil {
		return nil, train.Usage("--propose %s: %w", t.Propose, err)
	}
	if err := p.say(map[string]any{"study": o}); err != nil {
		return p, err
	}
	for b, names := range s.Batches {
		if err := s.tellAll(p, b); err != nil {
			return p, err
		}
		again, err := s.ask(p, len(names))
		if err != nil {
			return p, err
		}
		for i, list := range again {
			if name := s.Plan.armName(list); name != names[i] {
				return p, fmt.Errorf("--propose %s proposes %s where it proposed %s before, as trial %d of batch %d: a proposer must depend on "+
					"its input alone; another version of it needs another study", t.Propose, name, names[i], i, b)
			}
		}
	}
	return p, nil
}

// close ends the program.
func (p *proposer) close() {
	if p == nil {
		return
	}
	_ = p.in.Close()
	_ = p.command.Process.Kill()
	_ = p.command.Wait() // it was killed
}

func (p *proposer) say(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := p.in.Write(append(b, '\n')); err != nil {
		return p.broken("it reads no more")
	}
	return nil
}

// broken is the error of a program that has ended or says nothing of use.
func (p *proposer) broken(what string) error {
	p.close()
	said := strings.TrimSpace(p.errs.String())
	if lines := strings.Split(said, "\n"); len(lines) > 5 {
		said = strings.Join(lines[len(lines)-5:], "\n")
	}
	if strings.Contains(said, "No module named") {
		said += fmt.Sprintf("\nname a Python that has optuna (pip install optuna cmaes) by the environment variable %s", PythonVar)
	}
	return fmt.Errorf("--propose %s: %s\n%s", p.name, what, said)
}

// propose adds the next batch, and reports whether there is one.
func (s *Sweep) propose(ctx context.Context, p **proposer) (more bool, err error) {
	if !s.Plan.Study.Outside() {
		return false, nil
	}
	n := s.Plan.Trials
	for _, b := range s.Batches {
		n -= len(b)
	}
	x, err := s.Base()
	if err != nil || n <= 0 {
		return false, err
	}
	if *p == nil {
		if *p, err = s.startProposer(ctx); err != nil {
			return false, err
		}
	}
	size, _ := s.Plan.shape(len(s.Batches), s.Plan.Rungs(x.Train.Steps))
	if size == 0 {
		size = s.Plan.Study.Batch
	}
	if err := s.tellAll(*p, len(s.Batches)); err != nil {
		return false, err
	}
	list, err := s.ask(*p, min(n, size))
	if err != nil {
		return false, err
	}
	var names []string
	for _, settings := range list {
		a, err := s.Plan.arm(settings, s.names)
		if err != nil {
			return false, fmt.Errorf("--propose %s: %w", s.Plan.Study.Propose, err)
		}
		if !slices.ContainsFunc(s.Arms, func(o Arm) bool { return o.Name == a.Name }) {
			s.Arms = append(s.Arms, a)
		}
		names = append(names, a.Name)
	}
	s.Batches = append(s.Batches, names)
	return true, nil
}

// tellAll tells the program what became of the batches before one.
func (s *Sweep) tellAll(p *proposer, before int) error {
	for ; p.batches < before; p.batches++ {
		names := s.Batches[p.batches]
		first := p.trials - len(names)
		var list []told
		for i, name := range names {
			list = append(list, s.became(first+i, name))
		}
		if err := p.say(map[string]any{"tell": list}); err != nil {
			return err
		}
	}
	return nil
}

// became is what a trial came to.
func (s *Sweep) became(number int, name string) told {
	a := &s.Arms[slices.IndexFunc(s.Arms, func(a Arm) bool { return a.Name == name })]
	t := told{Trial: number, State: "pruned", Values: []float64{}, Steps: [][2]float64{}}
	rungs := s.Plan.rungs(a.Steps)
	for _, r := range rungs {
		if len(missing([]*Arm{a}, r)) > 0 {
			continue
		}
		t.Values = t.Values[:0]
		for m := range s.Plan.Study.Metrics {
			t.Values = append(t.Values, s.mean(a, r, m))
		}
		if slices.ContainsFunc(t.Values, func(v float64) bool { return math.IsInf(v, 0) || math.IsNaN(v) }) {
			t.State, t.Values = "fail", []float64{}
			return t
		}
		at := float64(r.steps)
		if s.Plan.Study.Halving == Seeds {
			at = float64(r.seeds)
		}
		t.Steps = append(t.Steps, [2]float64{at, t.Values[0]})
		if r == rungs[len(rungs)-1] {
			t.State = "complete"
		}
	}
	return t
}

// ask asks for trials and checks each.
func (s *Sweep) ask(p *proposer, n int) (out [][]Setting, err error) {
	if err := p.say(map[string]int{"ask": n}); err != nil {
		return nil, err
	}
	for range n {
		if !p.out.Scan() {
			what := fmt.Sprintf("it ended, or gave a line of more than %d bytes, where it was to propose trial %d", longestAnswer, p.trials)
			return nil, p.broken(what)
		}
		list, err := s.Plan.settings(p.out.Bytes())
		if err != nil {
			return nil, p.broken(fmt.Sprintf("trial %d %v", p.trials, err))
		}
		out = append(out, list)
		p.trials++
	}
	return out, nil
}

// settings reads a proposal, an object with a value for each key.
func (p *Plan) settings(line []byte) (out []Setting, err error) {
	var got map[string]any
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&got); err != nil {
		return nil, fmt.Errorf("is %.200q, want a JSON object with the keys %s", line, quoted(p.Keys()))
	}
	for _, r := range p.Random {
		v, ok := got[r.Key]
		if !ok {
			return nil, fmt.Errorf("is %.200s, without the key %s", line, r.Key)
		}
		delete(got, r.Key)
		text, err := r.Law.taken(v)
		if err != nil {
			return nil, fmt.Errorf("has %s: %v, %w", r.Key, v, err)
		}
		out = append(out, Setting{r.Key, text})
	}
	for k := range got {
		return nil, fmt.Errorf("has the key %s, which is none of %s", k, quoted(p.Keys()))
	}
	return out, nil
}

// taken is a proposed value as draws are written.
func (l Law) taken(v any) (string, error) {
	if l.kind == choiceLaw {
		if s, ok := v.(string); ok && slices.Contains(l.words, s) {
			return s, nil
		}
		return "", fmt.Errorf("want one of %s, as text", quoted(l.words))
	}
	x, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	if _, ok := v.(json.Number); !ok || err != nil || !(x >= l.low && x <= l.high) || l.kind == intLaw && x != math.Trunc(x) {
		return "", fmt.Errorf("want a number of %s", l)
	}
	return l.written(x), nil
}
