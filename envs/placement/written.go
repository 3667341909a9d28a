package placement

import "strconv"

// Written returns a configuration that opens no file: it contains the functions and workflows that [Azure] or [TPCH]
// read from files. Observations and legal choices are the same. Arrivals differ: with [Azure] they come at a constant
// rate. With other workloads it is the configuration itself.
func (s *System) Written() Config {
	c := s.config
	if c.Workload != Azure && c.Workload != TPCH {
		return c
	}
	c.Workload, c.TPCH = Poisson, Default().TPCH
	c.Functions, c.Workflows = s.named, nil
	for i := range s.workflows {
		t := &s.workflows[i]
		w := Workflow{Name: t.name, Share: s.shares[i]}
		for j := range t.steps {
			st := &t.steps[j]
			x := Step{Name: strconv.Itoa(j), Function: s.functions[st.function].name, Work: st.work, Output: st.output,
				After: []string{}}
			for _, p := range st.after {
				x.After = append(x.After, strconv.Itoa(int(p)))
			}
			w.Steps = append(w.Steps, x)
		}
		c.Workflows = append(c.Workflows, w)
	}
	return c
}

// Portable is the configuration of an exported policy, [System.Written].
func (e *Env) Portable() any { return e.s.Written() }
