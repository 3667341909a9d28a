package steps

import (
	"math"

	"github.com/stoker-rl/stoker/bounds"
)

// check says which key of the workflow is out of its range.
func (a *App) check() error {
	c := *a
	c.Own = a.Where() // what is not read is not checked
	return bounds.Check(&c)
}

// validate says what is wrong with a step, naming the key below key.
func (c *StepConfig) validate(key string, p *Platform) error {
	if c.Tasks == 0 {
		if !c.Law.Empty() || c.Download != (Transfer{}) || c.Upload != (Transfer{}) {
			return bounds.Errorf(key+".tasks", "is 0 or missing, but %q has a law or transfers: want the number of its tasks", c.Name)
		}
		return nil
	}
	if c.Wait != 0 {
		return bounds.Errorf(key+".wait", "is %g, but %q has tasks: only a state without tasks waits", c.Wait, c.Name)
	}
	if c.Law.Empty() {
		return bounds.Errorf(key+".law", "is missing: step %q has %d tasks, want the law of their time, such as {a: 1.2} "+
			"seconds a task with one core, or measured runs in profiles", c.Name, c.Tasks)
	}
	if err := c.Law.validate(key+".law", c.Multicore); err != nil {
		return err
	}
	if err := c.Download.validate(key + ".download"); err != nil {
		return err
	}
	if err := c.Upload.validate(key + ".upload"); err != nil {
		return err
	}
	if most := p.Memory[len(p.Memory)-1]; c.MinMemory > most {
		return bounds.Errorf(key+".min_memory", "is %d, want at most %d MB, the platform's largest size", c.MinMemory, most)
	}
	if c.MaxInstances > p.MaxInstances {
		return bounds.Errorf(key+".max_instances", "is %d, want at most %d, the platform's limit", c.MaxInstances, p.MaxInstances)
	}
	if c.MaxProcesses > p.MaxProcesses {
		return bounds.Errorf(key+".max_processes", "is %d, want at most %d, the platform's limit", c.MaxProcesses, p.MaxProcesses)
	}
	return nil
}

// validate says what is wrong with a transfer.
func (t *Transfer) validate(key string) error {
	switch {
	case t.Objects > 0 && t.MB == 0:
		return bounds.Errorf(key+".mb", "is missing, want the size of each of the %d objects in MB", t.Objects)
	case t.Objects == 0 && t.MB > 0:
		return bounds.Errorf(key+".objects", "is missing, want how many objects of %g MB are moved", t.MB)
	}
	return nil
}

// limit is a bound of which 0 is none.
func limit(n int) int {
	if n == 0 {
		return math.MaxInt
	}
	return n
}

// checkSLO says by how much the workflow's own limit cannot be kept.
func (m *Model) checkSLO() error {
	slo := m.App.SLO
	if slo == 0 || slo >= m.Fastest {
		return nil
	}
	return bounds.Errorf("slo", "is %.4g s, which is %.3g s below the fastest configurations: they take %.4g s at P90", slo,
		m.Fastest-slo, m.Fastest)
}
