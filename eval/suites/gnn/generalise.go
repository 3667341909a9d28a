package gnn

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/eval/suite"
)

// Generalise returns the suite that plays the policy where it was not trained.
func Generalise() suite.Suite {
	return suite.Suite{
		Name: "gnn-generalise",
		Doc: "the policy over graphs on workloads, systems and loads that it was not trained on, and transfer after a " +
			"fifth of the training",
		Paper: paper, Seeds: 40, QuickSeeds: 10, Run: runGeneralise,
	}
}

// Of the paper: at most 15 % worse than where it was trained, and 92 % of the performance after 20 % of the training.
const (
	paperLoss     = 15.0
	paperTransfer = 92.0
	paperBudget   = 20.0
)

// generalSize says how much is played.
type generalSize struct {
	gnn, scratch, transfer *trained
	kinds                  []string
	systems                []uint64
	loads                  []float64
	load                   float64 // of everything but the loads
	data                   string
	change                 func(*placement.Config)
}

func runGeneralise(ctx context.Context, o suite.Options, r *suite.Report) error {
	size := generalSize{
		kinds: []string{
			placement.Poisson, placement.Bursty, placement.Periodic, placement.Mixed, placement.Azure, placement.TPCH,
		},
		systems: []uint64{2, 3, 4}, loads: []float64{0.1, 0.3, 0.5, 0.7, 0.9, 1.1, 1.3, 1.5, 1.7, 1.9, 2.2, 2.5},
		load: 0.7, data: o.Data,
	}
	if o.Quick {
		size.systems, size.loads = []uint64{2}, []float64{0.1, 0.7, 1.3, 1.9, 2.5}
	}
	for _, x := range []struct {
		at   **trained
		name string
	}{{&size.gnn, gnnName}, {&size.scratch, scratchName}, {&size.transfer, transferName}} {
		var err error
		if *x.at, err = fromZoo(x.name); err != nil {
			return err
		}
		if *x.at == nil {
			r.Note("%s", missing(x.name))
		}
	}
	return generalise(ctx, &o, r, size)
}

// place is a setting where the policy plays.
type place struct {
	kind  string // workload, system or load
	name  string
	world *world
	*field
	known bool // it was trained there
}

// places lists the settings, the trained one first.
func places(r *suite.Report, size generalSize) ([]*place, error) {
	base := newWorld()
	base.config.Load = size.load
	trainedOn := []string{placement.Steady}
	lo, hi := 0.0, 0.0
	if size.gnn != nil {
		own := size.gnn.serverless()
		if own == nil {
			return nil, fmt.Errorf("%s was trained in %s, want %s", size.gnn.source, size.gnn.Experiment.Env.Name, placement.ID)
		}
		trainedOn[0] = own.Workload
		base.config.Workload, base.config.System = own.Workload, own.System
		lo, hi = own.Load, max(own.Load, own.LoadTo)
	}
	if size.change != nil {
		size.change(&base.config)
	}
	out := []*place{{kind: "trained", name: trainedOn[0], world: base, known: true}}
	add := func(kind, name string, change func(*placement.Config)) {
		w := *base
		change(&w.config)
		out = append(out, &place{kind: kind, name: name, world: &w})
	}
	for _, k := range size.kinds {
		path := ""
		switch {
		case k == base.config.Workload:
			continue
		case k == placement.TPCH && size.data == "":
			r.Note("TPC-H's jobs are not played: they need --data with dags/tpch_dags_summary.json")
			continue
		case k == placement.TPCH:
			path = filepath.Join(size.data, "dags", "tpch_dags_summary.json")
			if _, err := os.Stat(path); err != nil {
				return nil, suite.Usage("--data: there is no %s, TPC-H's jobs", path)
			}
		}
		add("workload", k, func(c *placement.Config) { c.Workload, c.TPCH.Path = k, path })
	}
	for _, s := range size.systems {
		if s != base.config.System {
			add("system", fmt.Sprintf("system %d", s), func(c *placement.Config) { c.System = s })
		}
	}
	outside := 0
	for _, l := range size.loads {
		add("load", fmt.Sprintf("load %.0f %%", 100*l), func(c *placement.Config) { c.Load = l })
		p := out[len(out)-1]
		if p.known = size.gnn != nil && l >= lo-1e-9 && l <= hi+1e-9; !p.known {
			outside++
		}
	}
	if size.gnn != nil {
		r.Note("%s was trained on %s arrivals of system %d at loads from %.0f to %.0f %%, for %d steps; %d of the loads "+
			"here lie outside",
			size.gnn.source, base.config.Workload, base.config.System, 100*lo, 100*hi, size.gnn.Steps(), outside)
	}
	return out, nil
}

func generalise(ctx context.Context, o *suite.Options, r *suite.Report, size generalSize) error {
	all, err := places(r, size)
	if err != nil {
		return err
	}
	var fields []*field
	for k, p := range all {
		name := p.name
		if p.kind != "load" {
			name = fmt.Sprintf("%s, load %.0f %%", p.name, 100*p.world.config.Load)
		}
		if p.field, err = newField(r, name, p.world, true, size.gnn); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if size.gnn != nil && k == 0 && len(learned(p.field)) == 0 {
			return fmt.Errorf("%s does not play where it was trained: see the notes", size.gnn.source)
		}
		fields = append(fields, p.field)
	}
	move, err := newTransfer(r, size)
	if err != nil {
		return err
	}
	fields = append(fields, move.fields()...)
	if err := play(ctx, o, "settings", 1, fields...); err != nil {
		return err
	}
	reportPlaces(r, all)
	move.report(r)
	return nil
}
