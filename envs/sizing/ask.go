package sizing

// Functions returns the names of the workflow's functions, in the order of the agents.
func (e *Env) Functions() []string { return e.app.flow.Functions() }

// Fits reports whether all machines together can hold a configuration.
func (e *Env) Fits(rs []Resources) bool { return !e.refused(rs) }
