package catalog

import (
	"flag"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/deeprm"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/proof"
)

var update = flag.Bool("update", false, "record golden traces anew")

// golden is a trace of an environment's defaults, or of what change makes of them.
type golden struct {
	file   string
	change func(config any, w *workload.Config)
}

// goldens lists the traces of every environment: of its defaults, and of forms whose dynamics those do not reach. The classic
// problems' files are their own package's.
var goldens = map[string][]golden{
	sizing.ID: {
		{"testdata/sizing.golden", nil},
		{"testdata/sizing-users.golden", func(config any, w *workload.Config) {
			config.(*sizing.Config).Workflow = sizing.Branch
			w.Kind, w.Users.Count = workload.ClosedLoop, 12
		}},
		{"testdata/sizing-tcktapp.golden", func(config any, w *workload.Config) {
			config.(*sizing.Config).Workflow = sizing.TcktApp
			w.Kind, w.Rate, w.Factor = workload.Poisson, 0.5, 1
		}},
	},
	pricing.ID: {
		{"../pricing/testdata/pricing.golden", nil},
		{"../pricing/testdata/outside.golden", func(config any, _ *workload.Config) {
			c := config.(*pricing.Config)
			c.Profile, c.Demand.Source, c.Slots = pricing.OutsideProfile, pricing.Generated, 20
		}},
	},
	pricing.SlotsID: {
		{"../pricing/testdata/slots.golden", nil},
		{"../pricing/testdata/elastic.golden", func(config any, _ *workload.Config) {
			c := config.(*pricing.Config)
			c.Pool, c.Layout.Warm, c.Load = pricing.Elastic, pricing.WarmShared, 1.5
		}},
		{"../pricing/testdata/fixed.golden", func(config any, _ *workload.Config) {
			c := config.(*pricing.Config)
			c.Pool, c.Load, c.Costs.Revenue = pricing.Fixed, 0.5, pricing.ServedRevenue
		}},
	},
	deeprm.ID: {
		{"../deeprm/testdata/deeprm.golden", nil},
		{"../deeprm/testdata/deeprm-published.golden", func(config any, _ *workload.Config) {
			*config.(*deeprm.Config) = deeprm.Published()
		}},
	},
	placement.ID: {
		{"../placement/testdata/placement.golden", nil},
		{"../placement/testdata/placement-azure.golden", func(config any, _ *workload.Config) {
			config.(*placement.Config).Workload = placement.Azure
		}},
	},
	FlatID: {
		{"testdata/placement-flat.golden", func(config any, _ *workload.Config) {
			c := config.(*placement.Config)
			c.Window, c.Running, c.Hold, c.Load = 8, 8, false, 1.5
		}},
	},
	"stoker/CartPole-v1":     {{"../classic/testdata/cartpole.golden", nil}},
	"stoker/SimpleSpread-v1": {{"../classic/testdata/spread.golden", nil}},
	"stoker/LQR-v1":          {{"../classic/testdata/lqr.golden", nil}},
	"stoker/Bandit-v1":       {{"../classic/testdata/bandit.golden", nil}},
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
	all, traces, broken := All(), 0, 0
	for _, e := range all {
		if len(goldens[e.ID]) == 0 {
			t.Errorf("%s has no golden trace", e.ID)
			broken++
		}
		for _, g := range goldens[e.ID] {
			t.Run(strings.TrimSuffix(filepath.Base(g.file), ".golden"), func(t *testing.T) {
				c := counter{TB: t}
				envtest.Golden(&c, g.file, *update, func() (envs.Env, error) {
					config, w := e.Config(), sizing.DefaultWorkload()
					if g.change != nil {
						g.change(config, &w)
					}
					return e.New(config, w)
				})
				broken += min(c.errors, 1)
				traces++
			})
		}
	}
	if *update {
		return
	}
	target := architecture()
	proof.Claim(t, proof.Row{
		Topic: "environments",
		Claim: fmt.Sprintf("golden traces of %d steps under three seeds, every bit emitted, of all %d environments (%d forms), on %s",
			envtest.GoldenSteps, len(all), traces, target),
		Bound:    "equal bits",
		Measured: fmt.Sprintf("%d of %d traces equal", traces-broken, traces),
		Holds:    broken == 0,
		Command:  target + " go test ./envs/catalog -run '^TestGoldenTraces$'",
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
