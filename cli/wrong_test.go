package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commands are all that do something, by their words.
func commands(c *cobra.Command, out map[string]*cobra.Command) map[string]*cobra.Command {
	for _, sub := range c.Commands() {
		commands(sub, out)
	}
	if name := strings.TrimPrefix(c.CommandPath(), "stoker"); c.Runnable() && name != "" {
		out[strings.TrimSpace(name)] = c
	}
	return out
}

// Every command refuses what is not there, with exit code 2, one line that names it, and nothing else done.
func TestNotThere(t *testing.T) {
	run := trained(t)
	t.Chdir(t.TempDir())
	if code, _, errs := stoker("eval", run); code != exitDone {
		t.Fatal(errs)
	}
	wrong := map[string][]string{ // by command: arguments that name what is not there
		"train": {"nope.yaml", "configs/nope/nope.yaml", "x.yaml --init-from nope", "classic/lqr --set eval.objective=nope",
			"classic/lqr --set train.evaluate.metric=nope", "classic/cartpole-ppo --set agent.minibatches=1000"},
		"resume":     {"nope", "runs/nope", run + " --from nope"},
		"eval":       {"nope", "runs/nope", "zoo:nope", run + " nope", run + " --config nope.yaml", run + " --set eval.metrics=[nope]"},
		"explain":    {"nope", "runs/nope", "zoo:nope"},
		"plot":       {"nope", "runs/nope", "runs/nope*", run + " nope", run + " --metric nope"},
		"power":      {"nope", run + " --metric x", filepath.Join(run, "eval") + " --metric nope"},
		"suite":      {"nope", "hops --data nope"},
		"check":      {"nope", "runs/nope"},
		"envs":       {"nope", "stoker/Nope-v1"},
		"agents":     {"nope"},
		"zoo":        {"nope"},
		"zoo card":   {"nope --name a --about b --config nope.yaml"},
		"bench":      {"nope", "env --env nope", "--engine nope", "--device nope", "--beside nope"},
		"completion": {"nope"},
		"sweep":      {"nope.yaml --grid train.steps=1,2", "--file nope.yaml"},
		"sweep show": {"nope"},
	}
	all := commands(newRoot(shipped), map[string]*cobra.Command{})
	for name := range all {
		for _, a := range append(wrong[name], "--nope", "--jsn") {
			code, out, errs := stoker(fields(name + " " + a)...)
			if code != exitUsage || out != "" || !strings.HasPrefix(errs, "stoker: ") {
				t.Errorf("stoker %s %s: exit %d, want %d and a reason: %s%s", name, a, code, exitUsage, out, errs)
			}
		}
	}
	for name := range wrong {
		if all[name] == nil {
			t.Errorf("there is no command %q: take it out of the table", name)
		}
	}
}

// Every flag of every command that holds a whole number refuses one that is negative, and zero where its help gives
// zero no meaning, and says what it wants.
func TestCounts(t *testing.T) {
	run, file := trained(t), config(t, brief)
	t.Chdir(t.TempDir())
	arguments := map[string]string{"train": file + " --seeds 1-2", "resume": run, "explain": run, "bench": "forward --seconds 0.001",
		"sweep": file + " --random train.steps=int(1,2)"}
	seen := 0
	for name, c := range commands(newRoot(shipped), map[string]*cobra.Command{}) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !slices.Contains([]string{"int", "int64", "uint64", "ints", "intSlice"}, f.Value.Type()) {
				return
			}
			seen++
			for _, value := range []string{"-1", "0", "x"} {
				// A seed may be 0.
				if value == "0" && (f.Name == "seed" || strings.Contains(f.Usage, "0 is") || strings.Contains(f.Usage, "0 takes") ||
					strings.Contains(f.Usage, "(0:")) {
					continue
				}
				words := fields(name + " " + arguments[name])
				code, out, errs := stoker(append(words, "--"+f.Name+"="+value)...)
				if code != exitUsage || out != "" || !strings.Contains(errs, "--"+f.Name) || !strings.Contains(errs, "want") {
					t.Errorf("stoker %s --%s %s: exit %d, want %d and what is wanted: %s%s", name, f.Name, value, code, exitUsage,
						out, errs)
				}
			}
		})
	}
	if seen < 15 {
		t.Errorf("%d flags hold whole numbers, want all of them", seen)
	}
}

// A flag's old name is taken where the new one is, and its help shows the new one alone.
func TestOldNames(t *testing.T) {
	all := commands(newRoot(shipped), map[string]*cobra.Command{})
	for name, flags := range was {
		for old, now := range flags {
			c := all[name]
			if c == nil || c.Flags().Lookup(now) == nil || c.Flags().Lookup(old) != c.Flags().Lookup(now) {
				t.Errorf("stoker %s does not take --%s for --%s", name, old, now)
				continue
			}
			if _, out, _ := stoker(append(fields(name), "--help")...); strings.Contains(out, "--"+old+" ") {
				t.Errorf("stoker %s --help shows --%s, which is --%s now", name, old, now)
			}
		}
	}
}

// A folder that cannot be made is named with its flag, and nothing is said to be written.
func TestOutRefused(t *testing.T) {
	file := config(t, brief)
	for _, a := range []string{"trace", "frontier random --config " + file} {
		code, out, errs := stoker(fields(a + " --out " + filepath.Join(file, "x"))...)
		if code != exitFailed || out != "" || !strings.Contains(errs, "stoker: --out: mkdir ") {
			t.Errorf("stoker %s --out of a file: exit %d, %s%s", a, code, out, errs)
		}
	}
}
