package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/internal/must"
)

// Every command says what it does and has examples that it takes.
func TestHelp(t *testing.T) {
	root := newRoot(shipped)
	for _, c := range append(root.Commands(), root) {
		if c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		if c.Short == "" || c.Example == "" {
			t.Errorf("%s: no description or no example", c.Name())
		}
		if c != root && c.GroupID == "" {
			t.Errorf("%s is in no group", c.Name())
		}
		n := 0
		for line := range strings.Lines(c.Example) {
			line, _, _ = strings.Cut(line, "#")
			line, _, _ = strings.Cut(line, " | ") // what reads the command's output is not ours
			words := shellWords(line)
			if len(words) < 2 || words[0] != "stoker" {
				t.Errorf("%s: example %q is no command", c.Name(), line)
				continue
			}
			n++
			if c == root {
				continue
			}
			if words[1] != c.Name() {
				t.Errorf("%s: example %q is of another command", c.Name(), line)
			}
			checkExample(t, words[1:])
		}
		if n == 0 {
			t.Errorf("%s has no example", c.Name())
		}
		code, out, _ := stoker(fields(strings.TrimPrefix(c.CommandPath()+" --help", "stoker "))...)
		if code != exitDone || !strings.Contains(out, "Examples:") {
			t.Errorf("%s --help: exit %d, %s", c.Name(), code, out)
		}
		sentences, _, _ := strings.Cut(out, "\nUsage:\n")
		for line := range strings.Lines(sentences) {
			if n := utf8.RuneCountInString(line) - 1; n > eval.TextWidth && line[0] != ' ' {
				t.Errorf("%s --help has a line of %d characters: %s", c.Name(), n, line)
			}
		}
		if word := strings.Fields(c.Long); len(word) > 0 && !slices.Equal(strings.Fields(sentences), word) {
			t.Errorf("%s --help says %q, want the words %q", c.Name(), sentences, c.Long)
		}
	}
	if code, out, _ := stoker(); code != exitDone || !strings.Contains(out, "Train:") {
		t.Errorf("stoker alone: exit %d, %s", code, out)
	}
}

// shellWords splits a line as a shell does, as far as examples go: single quotes hold words together, > and | send the
// output elsewhere.
func shellWords(line string) (words []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		if end := strings.IndexAny(part, ">|"); end >= 0 {
			return append(words, fields(part[:end])...)
		}
		words = append(words, fields(part)...)
	}
	return words
}

// checkExample fails where a command line is not one that the command takes.
func checkExample(t *testing.T, words []string) {
	t.Helper()
	c, rest, err := newRoot(shipped).Find(words)
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err == nil {
		err = c.ValidateArgs(c.Flags().Args())
	}
	if err != nil {
		t.Errorf("example %q: %v", words, err)
	}
}

// Wrong usage is 2 and says what would be right, where the command is known with where to read on; what fails is 1.
func TestExitCodes(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no stoker-torch
	file := config(t, brief)
	run := trained(t)
	damaged := filepath.Join(t.TempDir(), "damaged")
	must.Do(t, os.CopyFS(damaged, os.DirFS(run)))
	must.Do(t, os.WriteFile(filepath.Join(damaged, "checkpoints", "latest"), []byte("x"), 0o666))
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"trian", 2, `no command "trian"; did you mean train?`},
		{"frobnicate", 2, `no command "frobnicate"` + "\nsee: stoker --help"},
		{"train", 2, "CONFIG is missing\nusage: stoker train CONFIG"},
		{"train a b", 2, "too many arguments: b"},
		{"train " + file + " --sed 3", 2, "no flag --sed; did you mean --seed?\nsee: stoker train --help"},
		{"train " + file + " -x", 2, "unknown shorthand flag"},
		{"train " + file + " --seed -1", 2, `--seed is "-1", want a whole number of at least 0`},
		{"train " + file + " --seed 1 --seeds 1-2", 2, "--seed and --seeds are both given"},
		{"train " + file + " --seeds 3-1", 2, "--seeds: \"3-1\" runs backwards, want 1-3"},
		{"train " + file + " --set train.stps=3", 2, "did you mean steps?"},
		{"train " + file + " --set train.steps=x", 2, `command line: train.steps is "x", want a whole number`},
		{"train " + file + " --engine tensorflow", 2,
			`engine.name is "tensorflow", want one of native, torch, gorgonia`},
		{"train " + file + " --device cuda:0 --engine native", 2, "CUDA needs torch"},
		{"train " + file + " --device cuda:0", 1, "run: make cuda"},
		{"train " + file + " --engine torch", 1, "run: make cuda"},
		{"train " + file + " --name a --runs " + filepath.Dir(run), 2,
			"exists: give another --name, or continue it with: stoker resume " + run},
		{"train " + file + " --name ../a", 2, `run name "../a"`},
		{"train " + file + " --runs " + file, 1, "a file is in the way"},
		{"train " + file + " --init-from nope", 2, "--init-from: there is no nope; want the folder of a checkpoint"},
		{"train nope.yaml", 2, "no such file"},
		{"train configs/classic/cartpol.yaml", 2, "did you mean configs/classic/cartpole.yaml?"},
		{"resume", 2, "RUN is missing"},
		{"resume nope", 2, "there is no nope; want a run's folder"},
		{"resume " + run + " --steps 0", 2, "--steps is 0, want at least 1"},
		{"resume " + run + " --steps 10", 2, "has done 40 already"},
		{"resume " + damaged, 1, "damaged"},
		{"check nope", 2, "there is no nope"},
		{"check " + file, 1, "cannot be checked"},
		{"check " + damaged, 1, "1 problem(s)"},
		{"eval", 2, "is missing"},
		{"eval nope", 2, `no policy "nope"`},
		{"plot nope", 2, "there is no nope"},
		{"envs stoker/CartPol", 2, `Did you mean "stoker/CartPole-v1"?`},
		{"bench nope", 2, `no benchmark "nope"`},
		{"bench forward --seconds 0", 2, "--seconds is 0"},
		{"bench --agents 1,x", 2, `--agents is "1,x", want whole numbers`},
		{"bench attmf --agents 0", 2, "--agents has 0, want 1 to"},
		{"bench env --env stoker/CartPol-v1", 2, `Did you mean "stoker/CartPole-v1"?`},
		{"bench op", 1, "make cuda"},
		{"version x", 2, "too many arguments: x"},
		{"help tran", 2, `no command "tran"; did you mean train?`},
		{"completion basch", 2, `no completion for "basch"; did you mean bash?`},
		{"bench sim-day x", 2, "too many arguments: x"},
		{"train " + file + " --sedes 3", 2, "no flag --sedes; did you mean --seeds?"},
		{"train " + file + " --seeds 0", 2, `--seeds is "0", want a list of seeds, such as 1-5`},
		{"train " + file + " --set eval.metrics=[cots]", 2, "reports cost, return; did you mean cost?"},
		{"train " + filepath.Dir(run), 2, "is a folder, want a configuration's file"},
		{"resume " + run + " --from 7", 2, "has no checkpoint step-000000000007"},
		{"explain " + file, 2, "is a file, want the folder of a checkpoint or a run"},
		{"zoo deprm", 2, "did you mean deeprm?"},
		{"bench forwrd", 2, "did you mean forward?"},
		{"bench forward --device gpu", 2, `--device is "gpu", want cpu or cuda:N`},
		{"eval " + filepath.Dir(run) + "/b", 2, "did you mean " + run + "?"},
	} {
		code, out, errs := stoker(fields(c.args)...)
		if code != c.code {
			t.Errorf("stoker %s: exit %d, want %d: %s", c.args, code, c.code, errs)
		}
		if !strings.HasPrefix(errs, "stoker: ") || !strings.Contains(errs, c.want) {
			t.Errorf("stoker %s: says %q, want %q", c.args, errs, c.want)
		}
		if out != "" && !strings.HasPrefix(c.args, "check") {
			t.Errorf("stoker %s: prints %q", c.args, out)
		}
	}
}

// The printed configuration is complete, and read again gives itself.
func TestPrintConfig(t *testing.T) {
	code, first, errs := stoker("train", config(t, brief), "--set", "agent.gamma=0.5", "--seed", "9", "--print-config")
	if code != exitDone {
		t.Fatal(errs)
	}
	contains(t, "printed", first, "seed: 9", "gamma: 0.5", "log_every: 10", "noise_low: 0", "workload:")
	again := filepath.Join(t.TempDir(), "again.yaml")
	must.Do(t, os.WriteFile(again, []byte(first), 0o666))
	if _, second, errs := stoker("train", again, "--print-config"); second != first {
		t.Errorf("printed again it is\n%s%s\nwant\n%s", second, errs, first)
	}
}

// Completion knows commands, the keys under --set with their values, environments, policies and experiments.
func TestCompletion(t *testing.T) {
	file := config(t, brief)
	for _, c := range []struct {
		words []string
		want  []string
		not   string
	}{
		{[]string{"tr"}, []string{"train\tTrain a policy"}, "eval"},
		{[]string{"train", ""}, []string{"configs/classic/lqr.yaml"}, ""},
		{[]string{"train", file, "--set", "train."}, []string{"train.steps=\t40", "train.checkpoint.every=\t20"},
			"agent."},
		{[]string{"train", file, "--set", "agent.h"}, []string{"agent.hidden=", "agent.hard=\ttrue"}, "agent.batch"},
		{[]string{"train", file, "--set", "env."}, []string{"env.id=\tstoker/LQR-v1", "env.bound=\t2"}, "train."},
		{[]string{"train", file, "--engine", ""}, []string{"native", "torch"}, ""},
		{[]string{"train", file, "--device", "c"}, []string{"cpu", "cuda:0"}, ""},
		{[]string{"envs", ""}, []string{"stoker/CartPole-v1\tbalance"}, ""},
		{[]string{"bench", ""}, []string{"forward\tacting"}, ""},
	} {
		code, out, errs := stoker(append([]string{cobra.ShellCompRequestCmd}, c.words...)...)
		if code != exitDone {
			t.Errorf("%v: exit %d: %s", c.words, code, errs)
		}
		contains(t, strings.Join(c.words, " "), out, c.want...)
		if c.not != "" && strings.Contains(out, c.not) {
			t.Errorf("%v: completes to %s", c.words, out)
		}
	}
	if code, out, _ := stoker("completion", "bash"); code != exitDone || !strings.Contains(out, "stoker") {
		t.Errorf("completion bash: exit %d", code)
	}
}
