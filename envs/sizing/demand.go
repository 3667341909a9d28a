package sizing

// Demand returns the expected work of each function for a request to the workflow, in core-seconds, in the functions'
// order.
func (e *Env) Demand() []float64 {
	demand := e.app.flow.FunctionExecutions()
	for f := range demand {
		demand[f] *= e.app.laws[f].Work
	}
	return demand
}
