package placement

import (
	"fmt"
	"slices"
)

// Limits that keep shares of resources exact in float32, and states small.
const (
	mostUnits    = 1 << 20
	mostNodes    = 1 << 12
	mostAmounts  = 16
	mostWindow   = 1 << 12
	mostFunction = 1 << 12
	mostSeconds  = 1e7
)

// Validate names the first field that is wrong.
func (c *Config) Validate() error {
	for _, f := range []struct {
		key         string
		got, lo, hi int
	}{
		{"steps.low", c.Steps.Low, 1, 1 << 8}, {"steps.high", c.Steps.High, c.Steps.Low, 1 << 8},
		{"window", c.Window, 1, mostWindow}, {"running", c.Running, 1, mostWindow}, {"most", c.Most, 1, 1 << 20},
		{"tpch.executors", c.TPCH.Executors, 1, 1 << 20},
	} {
		if f.got < f.lo || f.got > f.hi {
			return fmt.Errorf("%s is %d, want %d to %d", f.key, f.got, f.lo, f.hi)
		}
	}
	for _, f := range []struct {
		key         string
		got, lo, hi float64
	}{
		{"seconds", c.Seconds, 1e-3, mostSeconds}, {"max_time", c.MaxTime, c.Seconds, mostSeconds}, {"load", c.Load, 0, 100}, {"load_to", c.LoadTo, 0, 100},
		{"variation", c.Variation, 0, 1}, {"longest", c.Longest, 1e-3, mostSeconds}, {"tick", c.Tick, 1e-3, mostSeconds}, {"join", c.Join, 0, 1},
		{"size.low", c.Size.Low, 1e-3, 1e3}, {"size.high", c.Size.High, c.Size.Low, 1e3}, {"noise", c.Noise, 0, 2},
		{"cold.boot", c.Cold.Boot, 0, 1e4}, {"cold.pull", c.Cold.Pull, 1e-3, 1e9}, {"keep_alive", c.KeepAlive, 0, mostSeconds},
		{"prices.cpu", c.Prices.CPU, 0, 1e6}, {"prices.memory", c.Prices.Memory, 0, 1e6}, {"prices.gpu", c.Prices.GPU, 0, 1e6}, {"prices.idle", c.Prices.Idle, 0, 1e3},
		{"weights.latency", c.Weights.Latency, 0, 1e9}, {"weights.utilisation", c.Weights.Utilisation, 0, 1e9},
		{"weights.violations", c.Weights.Violations, 0, 1e9}, {"weights.cost", c.Weights.Cost, 0, 1e9}, {"tpch.scale", c.TPCH.Scale, 1e-6, 1e6},
	} {
		if !(f.got >= f.lo && f.got <= f.hi) { // also for NaN
			return fmt.Errorf("%s is %g, want %g to %g", f.key, f.got, f.lo, f.hi)
		}
	}
	if c.Wait != WaitEvent && c.Wait != WaitTick {
		return fmt.Errorf("wait is %q, want %q or %q", c.Wait, WaitEvent, WaitTick)
	}
	if all := []string{Steady, Poisson, Bursty, Periodic, Mixed, Azure, TPCH}; !slices.Contains(all, c.Workload) {
		return fmt.Errorf("workload is %q, want one of %q", c.Workload, all)
	}
	if c.Workload == TPCH && c.TPCH.Path == "" {
		return fmt.Errorf("tpch.path is empty, want the file of TPC-H's jobs for workload %q", TPCH)
	}
	for _, check := range []func() error{c.validateNodes, c.validateAmounts, c.validatePriorities, c.validateClasses} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) validateNodes() error {
	nodes := 0
	for i, n := range c.Nodes {
		at := fmt.Sprintf("nodes[%d] (%s)", i, n.Name)
		if n.Count < 1 || n.Count > mostNodes {
			return fmt.Errorf("%s: count is %d, want 1 to %d", at, n.Count, mostNodes)
		}
		for r, x := range [NumResources]int{n.CPU, n.Memory, n.Network, n.GPU} {
			least := 1
			if r == GPU {
				least = 0
			}
			if x < least || x > mostUnits {
				return fmt.Errorf("%s: %s is %d, want %d to %d", at, ResourceNames[r], x, least, mostUnits)
			}
		}
		if !(n.Speed >= 1e-3 && n.Speed <= 1e3) || !(n.Price >= 0 && n.Price <= 1e6) {
			return fmt.Errorf("%s: speed is %g and price %g, want speed 0.001 to 1000 and price 0 to 1e6", at, n.Speed, n.Price)
		}
		nodes += n.Count
	}
	if nodes < 1 || nodes > mostNodes {
		return fmt.Errorf("nodes are %d in all, want 1 to %d", nodes, mostNodes)
	}
	return nil
}

func (c *Config) validateAmounts() error {
	if len(c.Amounts) > mostAmounts || !slices.Contains(c.Amounts, 1) {
		return fmt.Errorf("amounts are %v, want at most %d with 1 among them", c.Amounts, mostAmounts)
	}
	for i, a := range c.Amounts {
		if !(a >= 1e-3 && a <= 1e3) || i > 0 && a <= c.Amounts[i-1] {
			return fmt.Errorf("amounts[%d] is %g, want 0.001 to 1000, ascending: %v", i, a, c.Amounts)
		}
	}
	return nil
}

func (c *Config) validatePriorities() error {
	total := 0.0
	for i, p := range c.Priorities {
		if !(p.Share >= 0 && p.Share <= 1e9) || !(p.Weight >= 0 && p.Weight <= 1e9) || !(p.Factor >= 0 && p.Factor <= 1e6) || !(p.Grace >= 0 && p.Grace <= 1e6) {
			return fmt.Errorf("priorities[%d] has share %g, weight %g, factor %g and grace %g, want none negative or huge", i, p.Share, p.Weight, p.Factor, p.Grace)
		}
		total += p.Share
	}
	if !(total > 0) || len(c.Priorities) > 1<<8 {
		return fmt.Errorf("priorities are %d with shares of %g in all, want 1 to 256 with some", len(c.Priorities), total)
	}
	return nil
}

func (c *Config) validateClasses() error {
	if (len(c.Functions) > 0) != (len(c.Workflows) > 0) {
		return fmt.Errorf("functions are %d and workflows %d, want both or neither", len(c.Functions), len(c.Workflows))
	}
	if len(c.Functions) > 0 && (c.Workload == Azure || c.Workload == TPCH) {
		return fmt.Errorf("functions are given, but workload %q has its own; want none", c.Workload)
	}
	if len(c.Functions) > mostFunction {
		return fmt.Errorf("functions are %d, want at most %d", len(c.Functions), mostFunction)
	}
	if len(c.Classes) == 0 && len(c.Functions) == 0 {
		return fmt.Errorf("classes are none, want some, or functions and workflows that are given")
	}
	total := 0.0
	for i, k := range c.Classes {
		at := fmt.Sprintf("classes[%d] (%s)", i, k.Name)
		if k.Functions < 1 || k.Functions > mostFunction || k.Workflows < 1 || k.Workflows > mostFunction {
			return fmt.Errorf("%s: functions are %d and workflows %d, want 1 to %d", at, k.Functions, k.Workflows, mostFunction)
		}
		if !(k.Share >= 0 && k.Share <= 1e9) {
			return fmt.Errorf("%s: share is %g, want 0 to 1e9", at, k.Share)
		}
		total += k.Share
		for _, f := range []struct {
			key    string
			got    Span
			lo, hi float64
		}{
			{"work", k.Work, 1e-3, 1e5}, {"cpu", k.CPU, 1, mostUnits}, {"memory", k.Memory, 1, mostUnits}, {"network", k.Network, 1, mostUnits},
			{"gpu", k.GPU, 0, mostUnits}, {"image", k.Image, 0, 1e7}, {"parallel", k.Parallel, 0, 1}, {"output", k.Output, 0, 1e7},
		} {
			if !(f.got.Low >= f.lo && f.got.High <= f.hi && f.got.Low <= f.got.High) {
				return fmt.Errorf("%s: %s is %g to %g, want %g ≤ low ≤ high ≤ %g", at, f.key, f.got.Low, f.got.High, f.lo, f.hi)
			}
		}
	}
	if len(c.Functions) == 0 && !(total > 0) {
		return fmt.Errorf("classes have shares of %g in all, want some", total)
	}
	return nil
}
