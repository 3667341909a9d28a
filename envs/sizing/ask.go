package sizing

// Functions returns the names of the workflow's functions, in the order of the agents.
func (e *Env) Functions() []string { return e.app.flow.Functions() }

// Fits reports whether all machines together can hold a configuration.
func (e *Env) Fits(rs []Resources) bool { return !e.refused(rs) }

// Machines is the number of machines. In a generated workflow it grows with the functions.
func (e *Env) Machines() int { return e.app.machines(&e.cfg.Platform) }

// Meters returns what the last observation was made from: the numbers that a platform would measure. They are those of
// this environment's own Reset or Step, not of one that it was copied from, and change with the next.
func (e *Env) Meters() *Meters { return &e.meters }
