package sizing

// Functions returns the names of the workflow's functions, in the order of the agents.
func (e *Env) Functions() []string { return e.app.flow.Functions() }

// Fits reports whether all machines together can hold a configuration.
func (e *Env) Fits(rs []Resources) bool { return !e.refused(rs) }

// Machines is the number of machines. In a generated workflow it grows with the functions.
func (e *Env) Machines() int { return e.app.machines(&e.cfg.Platform) }
