package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
)

// World is a row of the table of environments: what there is to know of one without running it.
type World struct {
	// ID is the versioned name.
	ID string
	// New makes the environment of a configuration, as JSON, under a workload that no one will run: for the rules that are
	// made for an environment, and for dependent masks. It opens no file.
	New func(config, load json.RawMessage) (envs.Env, error)
	// Fits makes a function that says of an action whether it asks for more than the machines have, for one goroutine.
	// It is nil where the masks forbid such actions, or where carrying out an action takes the excess back.
	Fits func(config, load json.RawMessage) (func(act *envs.Action) error, error)
	// Face makes what turns a platform's measurements into observations; nil where there is none.
	Face func(config, load json.RawMessage) (Face, error)
}

// Worlds returns the table.
func Worlds() []World {
	return []World{
		{sizing.ID, func(config, load json.RawMessage) (envs.Env, error) {
			return newSizing(sizing.Default(), config, load, sizing.Open)
		}, sizingFits(sizing.ID), newSizingFace(sizing.ID)},
		{sizing.CountedID, func(config, load json.RawMessage) (envs.Env, error) {
			return newSizing(sizing.DefaultCounted(), config, load, sizing.OpenCounted)
		}, sizingFits(sizing.CountedID), newSizingFace(sizing.CountedID)},
		{pricing.ID, func(config, load json.RawMessage) (envs.Env, error) {
			return newPricing(config, load, pricing.New)
		}, nil, newPricingFace},
		{pricing.SlotsID, func(config, load json.RawMessage) (envs.Env, error) {
			return newPricing(config, load, pricing.NewSlots)
		}, nil, newSlotsFace},
		{placement.ID, newPlacement, nil, newPlacementFace},
	}
}

// world finds an environment's row among more rows, which come first, and the table. There is none for problems with
// known answers and for environments of other programs; another version of one of the table's is an error.
func world(id string, more []World) (*World, error) {
	all := slices.Concat(more, Worlds())
	base := func(id string) string { return id[:max(0, strings.LastIndex(id, "-v"))] }
	var others []string
	for i := range all {
		if all[i].ID == id {
			return &all[i], nil
		}
		if base(all[i].ID) == base(id) {
			others = append(others, all[i].ID)
		}
	}
	if len(others) > 0 {
		return nil, fmt.Errorf("trained for %s, but this program has %s: export the policy again with the Stoker that "+
			"trained it, or use that release", id, strings.Join(others, " and "))
	}
	return nil, nil //nolint:nilnil // nothing is known, and nothing is wrong
}

// newSizing makes the sizing environment. Of the workload only whether it is closed is seen.
func newSizing[E envs.Env](c sizing.Config, config, load json.RawMessage,
	build func(sizing.Config, workload.Config) (E, error)) (envs.Env, error) {
	if err := envs.ParseJSON(config, &c); err != nil {
		return nil, err
	}
	w, err := idle(load)
	if err != nil {
		return nil, err
	}
	if err := atMost("workflows", len(c.Workflows), 1<<8); err != nil {
		return nil, err
	}
	c.Windows, c.Warmup, c.Start = 1, 0, -1
	return build(c, w)
}

// sizingFits is [World].Fits of the sizing environments, which refuse whole what is beyond their machines.
func sizingFits(id string) func(config, load json.RawMessage) (func(*envs.Action) error, error) {
	return func(config, load json.RawMessage) (func(*envs.Action) error, error) {
		o, err := sizing.OpenObserver(id, config, load)
		if err != nil {
			return nil, err
		}
		settings := make([]sizing.Settings, o.Spec().Kinds[0].Agents)
		return func(act *envs.Action) error {
			if err := o.Settings(act, settings); err != nil {
				return err
			}
			return o.Fits(settings)
		}, nil
	}
}

// newPricing makes a pricing environment: of prices, or of slots.
func newPricing[E envs.Env](config, load json.RawMessage,
	build func(pricing.Config, workload.Config, envs.Policy) (E, error)) (envs.Env, error) {
	c := pricing.Default()
	if err := envs.ParseJSON(config, &c); err != nil {
		return nil, err
	}
	w, err := idle(load)
	if err != nil {
		return nil, err
	}
	functions := 0
	for _, t := range c.Tiers {
		functions += clamp(t.Functions)
	}
	if err := atMost("tiers: functions of all", functions, 1<<14); err != nil {
		return nil, err
	}
	// What is demanded, how long it works and who deploys it is no part of the spec; the first two may come from files.
	d := pricing.Default()
	c.Demand.Source, c.Demand.Start, c.Work, c.Scheduler = "generated", -1, d.Work, d.Scheduler
	return build(c, w, nil)
}

func newPlacement(config, load json.RawMessage) (envs.Env, error) {
	c := placement.Default()
	if err := envs.ParseJSON(config, &c); err != nil {
		return nil, err
	}
	if c.Workload == "tpch" && c.TPCH.Path != "" {
		return nil, fmt.Errorf("tpch.path: the cluster's functions are read from a file, %q, and no file is opened for a "+
			"bundle",
			c.TPCH.Path)
	}
	nodes, functions := 0, len(c.Functions)
	for _, n := range c.Nodes {
		nodes += clamp(n.Count)
	}
	for _, k := range c.Classes {
		functions += clamp(k.Functions) + clamp(k.Workflows)
	}
	if err := atMost("window and nodes: pairs of invocation and node", clamp(nodes)*clamp(c.Window), 1<<22); err != nil {
		return nil, err
	}
	if err := atMost("classes: functions and workflows of all", functions, 1<<13); err != nil {
		return nil, err
	}
	w := workload.Default()
	if c.Workload == "azure" && len(load) > 0 { // the cluster's functions are those of the trace
		if err := envs.ParseJSON(load, &w); err != nil {
			return nil, fmt.Errorf("workload: %w", err)
		}
		if w.Path != "" {
			return nil, fmt.Errorf("workload.path: the cluster's functions are those of a trace, %q, and no file is opened "+
				"for a bundle", w.Path)
		}
	}
	return placement.New(c, w)
}

// A short text can describe what takes gigabytes: counts are looked at before anything is made.

// clamp keeps sums and products of counts small; what is negative is refused by the environment.
func clamp(n int) int { return min(max(n, 0), 1<<24) }

// atMost refuses a count.
func atMost(key string, n, most int) error {
	if n > most {
		return fmt.Errorf("%s: %d, a bundle has at most %d", key, n, most)
	}
	return nil
}

// idle is the cheapest workload of the kind of a given one: with users, or with arrivals.
func idle(load json.RawMessage) (workload.Config, error) {
	w := workload.Default()
	var kind struct{ Kind string }
	if len(load) > 0 {
		if err := json.Unmarshal(load, &kind); err != nil {
			return w, fmt.Errorf("workload: %w", err)
		}
	}
	if w.Kind = workload.Poisson; kind.Kind == workload.ClosedLoop {
		w.Kind = workload.ClosedLoop
	}
	return w, nil
}
