package sim

import (
	"errors"
	"fmt"
)

// Validate reports what is wrong with the configuration: every fault, each with its field.
func (c *Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("sim: "+format, args...)) }
	if len(c.Functions) == 0 {
		bad("Functions is empty, want at least one")
	}
	if len(c.Functions) > maxPool/4 || len(c.Nodes) > maxPool/4 {
		bad("%d functions and %d nodes, want at most %d of each", len(c.Functions), len(c.Nodes), maxPool/4)
	}
	if c.Placement >= placements {
		bad("Placement is %d, want FirstFit (0), BestFit (1) or SpreadFit (2)", c.Placement)
	}
	if c.SketchBits != NoSketch && (c.SketchBits < 0 || c.SketchBits > maxSketchBits) {
		bad("SketchBits is %d, want 0 (the default), 1 to %d, or NoSketch", c.SketchBits, maxSketchBits)
	}
	if c.StartRate != 0 && !(c.StartRate >= 1e-3 && c.StartRate <= 1e6) {
		bad("StartRate is %v, want starts a second in [1e-3, 1e6], or 0 for no bound", c.StartRate)
	}
	for i, n := range c.Nodes {
		if n.CPU < 0 || n.Memory < 0 || n.GPU < 0 {
			bad("Nodes[%d] is %+v, want no negative resource", i, n)
		}
	}
	for _, p := range []struct {
		name  string
		value float64
	}{
		{"VCPUHour", c.Prices.VCPUHour}, {"GBHour", c.Prices.GBHour},
		{"GPUSliceHour", c.Prices.GPUSliceHour}, {"Request", c.Prices.Request},
	} {
		if !(p.value >= 0 && p.value <= 1e12) {
			bad("Prices.%s is %v, want USD in [0, 1e12]", p.name, p.value)
		}
	}
	for i := range c.Functions {
		f := &c.Functions[i]
		name := fmt.Sprintf("Functions[%d]", i)
		if f.Name != "" {
			name += fmt.Sprintf(" (%s)", f.Name)
		}
		if err := f.validate(name); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (f *Function) validate(name string) error {
	if err := f.Demand.validate(name + ".Demand"); err != nil {
		return fmt.Errorf("sim: %w", err)
	}
	if err := f.ColdStart.validate(name + ".ColdStart"); err != nil {
		return fmt.Errorf("sim: %w", err)
	}
	if f.Dispatch >= dispatches {
		return fmt.Errorf("sim: %s.Dispatch is %d, want LeastLoaded (0), Packed (1), RoundRobin (2), Blind (3) or Random (4)",
			name, f.Dispatch)
	}
	for _, t := range []struct {
		name  string
		value Time
	}{{"QueueTimeout", f.QueueTimeout}, {"Timeout", f.Timeout}, {"KeepAlive", f.KeepAlive}, {"SLO", f.SLO}} {
		if t.value < 0 || t.value > MaxSpan {
			return fmt.Errorf("sim: %s.%s is %d µs, want 0 to %d", name, t.name, t.value, MaxSpan)
		}
	}
	for _, n := range []struct {
		name  string
		value int32
	}{
		{"Queue", f.Queue}, {"MaxInflight", f.MaxInflight}, {"RequestCPU", f.RequestCPU},
		{"IdleMemory", f.IdleMemory}, {"RequestMemory", f.RequestMemory},
	} {
		if n.value < 0 {
			return fmt.Errorf("sim: %s.%s is %d, want 0 or more", name, n.name, n.value)
		}
	}
	return f.Sizing.validate(name + ".Sizing")
}

func (z *Sizing) validate(name string) error {
	switch {
	case z.CPU < 0:
		return fmt.Errorf("sim: %s.CPU is %d, want millicores, 0 or more", name, z.CPU)
	case z.Memory < 0:
		return fmt.Errorf("sim: %s.Memory is %d, want MB, 0 or more", name, z.Memory)
	case z.GPU < 0:
		return fmt.Errorf("sim: %s.GPU is %d, want slices, 0 or more", name, z.GPU)
	case z.Concurrency < 1 || z.Concurrency > MaxConcurrency:
		return fmt.Errorf("sim: %s.Concurrency is %d, want 1 to %d", name, z.Concurrency, MaxConcurrency)
	case !(z.Speed >= 1e-6 && z.Speed <= 1e6):
		return fmt.Errorf("sim: %s.Speed is %v, want a number from 1e-6 to 1e6", name, z.Speed)
	case !(z.Contention.Cores >= 0 && z.Contention.Cores <= MaxConcurrency):
		return fmt.Errorf("sim: %s.Contention.Cores is %v, want 0 (any) to %d", name, z.Contention.Cores, MaxConcurrency)
	case !(z.Contention.Alpha >= 0 && z.Contention.Alpha <= 1e3):
		return fmt.Errorf("sim: %s.Contention.Alpha is %v, want 0 to 1000", name, z.Contention.Alpha)
	case z.Min < 0 || z.Max < z.Min:
		return fmt.Errorf("sim: %s.Min is %d and Max %d, want 0 ≤ Min ≤ Max", name, z.Min, z.Max)
	case z.Min > MaxReplicas:
		return fmt.Errorf("sim: %s.Min is %d, want at most %d", name, z.Min, MaxReplicas)
	}
	return nil
}
