package placement

import (
	"fmt"
	"github.com/stoker-rl/stoker/bounds"
	"slices"
)

// Limits that keep shares of resources exact in float32, and states small.
const (
	mostNodes    = 1 << 12
	mostAmounts  = 16
	mostFunction = 1 << 12
)

// Validate names the first field that is wrong.
func (c *Config) Validate() error {
	if err := bounds.Check(c); err != nil {
		return err
	}
	switch {
	case c.MaxTime < c.Seconds:
		return bounds.Errorf("max_time", "is %g, want at least seconds, %g", c.MaxTime, c.Seconds)
	case c.Steps.High < c.Steps.Low:
		return bounds.Errorf("steps", "is %d to %d, want low ≤ high", c.Steps.Low, c.Steps.High)
	case c.Size.High < c.Size.Low:
		return bounds.Errorf("size", "is %g to %g, want low ≤ high", c.Size.Low, c.Size.High)
	case c.Workload == TPCH && c.TPCH.Path == "":
		return bounds.Errorf("tpch.path", "is empty, want the file of TPC-H's jobs for workload %q", TPCH)
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
	for _, n := range c.Nodes {
		nodes += n.Count
	}
	if nodes < 1 || nodes > mostNodes {
		return bounds.Errorf("nodes", "are %d in all, want 1 to %d", nodes, mostNodes)
	}
	return nil
}

func (c *Config) validateAmounts() error {
	if len(c.Amounts) > mostAmounts || !slices.Contains(c.Amounts, 1) {
		return bounds.Errorf("amounts", "are %v, want at most %d with 1 among them", c.Amounts, mostAmounts)
	}
	for i, a := range c.Amounts {
		if i > 0 && a <= c.Amounts[i-1] {
			return bounds.Errorf(fmt.Sprintf("amounts[%d]", i), "is %g, want them ascending: %v", a, c.Amounts)
		}
	}
	return nil
}

func (c *Config) validatePriorities() error {
	total := 0.0
	for _, p := range c.Priorities {
		total += p.Share
	}
	if !(total > 0) || len(c.Priorities) > 1<<8 {
		return bounds.Errorf("priorities", "are %d with shares of %g in all, want 1 to 256 with some", len(c.Priorities),
			total)
	}
	return nil
}

func (c *Config) validateClasses() error {
	if (len(c.Functions) > 0) != (len(c.Workflows) > 0) {
		return bounds.Errorf("functions", "are %d and workflows %d, want both or neither", len(c.Functions), len(c.Workflows))
	}
	if len(c.Functions) > 0 && (c.Workload == Azure || c.Workload == TPCH) {
		return bounds.Errorf("functions", "are given, but workload %q has its own; want none", c.Workload)
	}
	if len(c.Functions) > mostFunction {
		return bounds.Errorf("functions", "are %d, want at most %d", len(c.Functions), mostFunction)
	}
	if len(c.Classes) == 0 && len(c.Functions) == 0 {
		return bounds.Errorf("classes", "are none, want some, or functions and workflows that are given")
	}
	total := 0.0
	for i, k := range c.Classes {
		total += k.Share
		for _, f := range []struct {
			key string
			got Span
		}{
			{"work", k.Work}, {"cpu", k.CPU}, {"memory", k.Memory}, {"network", k.Network},
			{"gpu", k.GPU}, {"image", k.Image}, {"parallel", k.Parallel}, {"output", k.Output},
		} {
			if f.got.Low > f.got.High {
				return bounds.Errorf(fmt.Sprintf("classes[%d].%s", i, f.key), "is %g to %g, want low ≤ high", f.got.Low, f.got.High)
			}
		}
	}
	if len(c.Functions) == 0 && !(total > 0) {
		return bounds.Errorf("classes", "have shares of %g in all, want some", total)
	}
	return nil
}
