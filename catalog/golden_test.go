package catalog_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

var (
	update = flag.Bool("update", false, "write docs/catalog.md anew, and record the golden traces whose files are missing")
	long   = flag.Bool("long", false, "whole golden traces, more steps and workers, and the environments compiled for arm64")
)

// shortSteps is how much of each seed of a golden trace is compared without -long.
const shortSteps = 100

// form makes an environment's configuration and workload from the defaults and a golden trace's settings. Traces are
// recorded under the load of the sizing experiments, unless their settings say otherwise.
func form(t testing.TB, id string, set []string) *configs.Experiment {
	t.Helper()
	settings := append([]string{fmt.Sprint("workload.factor=", sizing.DefaultFactor)}, set...)
	x := must.Get(configs.Parse("golden", []byte("name: golden\nagent: maddpg\nenv: "+id+"\n"), settings, catalog.Default()))(t)
	return x
}

// missing reports whether a file is not there. A trace is recorded anew by deleting its file first.
func missing(file string) bool {
	_, err := os.Stat(file)
	return errors.Is(err, fs.ErrNotExist)
}

// counter passes errors on and counts them.
type counter struct {
	testing.TB
	errors int
}

func (c *counter) Errorf(format string, args ...any) {
	c.errors++
	c.TB.Errorf(format, args...)
}

// Every environment in the table emits, to the bit, what it did when its trace was recorded.
func TestGoldenTraces(t *testing.T) {
	all, traces, broken := catalog.Default().Envs, 0, 0
	for _, e := range all {
		if len(e.Golden) == 0 {
			t.Errorf("%s has no golden trace", e.ID)
			broken++
		}
		for _, g := range e.Golden {
			t.Run(strings.TrimSuffix(path.Base(g.File), ".golden"), func(t *testing.T) {
				c := counter{TB: t}
				x, file := form(t, e.ID, g.Set), filepath.Join("..", filepath.FromSlash(g.File))
				build := func() (envs.Env, error) { return e.New(x.Env.Config, x.Workload) }
				if record := *update && missing(file); *long || record {
					envtest.Golden(&c, file, record, build)
				} else {
					envtest.GoldenStart(&c, file, shortSteps, build)
				}
				broken += min(c.errors, 1)
				traces++
			})
		}
	}
	if *update {
		return
	}
	target, steps := architecture(), shortSteps
	if *long {
		steps = envtest.GoldenSteps
	}
	proof.Claim(t, proof.Row{
		Topic: "environments",
		Claim: fmt.Sprintf("golden traces of %d steps under three seeds, every bit emitted, of all %d environments (%d forms), on %s",
			steps, len(all), traces, target),
		Bound:    "equal bits",
		Measured: fmt.Sprintf("%d of %d traces equal", traces-broken, traces),
		Holds:    broken == 0,
		Command:  target + " go test ./catalog -run '^TestGoldenTraces$' -long",
	})
}

// architecture is what this test was compiled for, as the environment variables that ask for it.
func architecture() string {
	s := "GOARCH=" + runtime.GOARCH
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "GOAMD64" {
				s += " GOAMD64=" + setting.Value
			}
		}
	}
	return s
}
