package steps

// State is where a step of a request stands.
type State uint8

// States of a step.
const (
	Waiting State = iota // it is not known yet that all it waits for has ended
	Ready                // it is to be decided now
	Running
	Done
	Skipped // a branch that was not taken leads to it
)

// Moment is what is known of a request when some of its steps are ready. What it points to holds until the next
// decision; deciders do not write to it.
type Moment struct {
	// Now is the time in seconds since the request began, SLO the limit to its end, Spent the USD so far, and Miss the
	// price in USD of a request that ends later than SLO (λ).
	Now, SLO, Spent, Miss float64
	// Ready are the steps to decide now, one after the other: Ready[0] is next.
	Ready []int
	// State, Choice, Begun and Done are per step: where it stands, its option (-1 before it is chosen), and the times in
	// seconds since the request began at which it began and ended. Done is only known of steps in the state Done.
	State  []State
	Choice []int
	Begun  []float64
	Done   []float64
	// Warm is per step and memory size of the platform the number of idle warm instances.
	Warm [][]int
}

// Decider chooses an option for each step as it becomes ready. It is used by one goroutine.
type Decider interface {
	// Begin tells of a request's workflow, its limit in seconds and the price of a miss in USD.
	Begin(m *Model, slo, miss float64)
	// Decide returns an option of a step that is ready: an index into m.Options[step], or what m.Pack returns for one that
	// is not on the step's front.
	Decide(at *Moment, step int) (option int)
}
