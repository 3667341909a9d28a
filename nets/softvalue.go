package nets

// SoftValue is the value of an action with its entropy, as two critics see it (Haarnoja et al., 2018b, eqs. 3 and 5):
//
//	v = min(q1, q2) − e^(ln α)·ln π
//
// Its mean over actions of the policy is what the policy maximises; of the target critics at the next state it is what
// the critics' target discounts. The gradient goes to the smaller critic (the first of equal ones), to ln π and to ln α.
// It has no parameters.
type SoftValue struct {
	Agents int `json:"agents" yaml:"agents"`
}

// Kind implements [Arch].
func (SoftValue) Kind() string { return "soft-value" }

// AgentCount implements [Arch].
func (v SoftValue) AgentCount() int { return v.Agents }

// Groups implements [Arch].
func (SoftValue) Groups() int { return 1 }

// Inputs implements [Arch].
func (SoftValue) Inputs() []Port {
	return []Port{{"q1", 1}, {"q2", 1}, {"log-prob", 1}, {"log-alpha", 1}}
}

// Output implements [Arch].
func (SoftValue) Output() Port { return Port{"value", 1} }

// Parameters implements [Arch]: none.
func (SoftValue) Parameters() []Param { return nil }

// Validate implements [Arch].
func (v SoftValue) Validate() error { return validateWidth(v.Kind(), "agents", v.Agents) }
