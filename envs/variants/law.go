package variants

import (
	"math"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
)

// Law is a law of package memory with its numbers: the mean seconds of a run over the memory size m in MB.
type Law struct {
	// Form is exponential: A + B·exp(-C·m); knee: A + B/min(m, K); single: A + B/(min(m/M, Q) + C); multi:
	// A + B·exp(-C·min(m/M, Q)); or table: Seconds at the sizes MB. With profiles, empty is the one that fits best.
	Form memory.Form `yaml:"form,omitempty" json:"form,omitempty" oneof:"|exponential|knee|single|multi|table"`
	A    float64     `yaml:"a,omitempty" json:"a,omitempty"`
	B    float64     `yaml:"b,omitempty" json:"b,omitempty"`
	C    float64     `yaml:"c,omitempty" json:"c,omitempty"`
	K    float64     `yaml:"k,omitempty" json:"k,omitempty"`
	// M is the size in MB that gives a whole core (empty: 1769), Q the cores that the code uses.
	M       float64   `yaml:"m,omitempty" json:"m,omitempty"`
	Q       float64   `yaml:"q,omitempty" json:"q,omitempty"`
	MB      []float64 `yaml:"mb,omitempty" json:"mb,omitempty"`
	Seconds []float64 `yaml:"seconds,omitempty" json:"seconds,omitempty"`
}

// LawOf writes a law of package memory with its numbers.
func LawOf(l memory.Law) Law {
	out := Law{Form: l.Form()}
	switch l := l.(type) {
	case memory.Exp:
		out.A, out.B, out.C = l.A, l.B, l.C
	case memory.Inverse:
		out.A, out.B, out.K = l.A, l.B, l.K
	case memory.Step:
		out.A, out.B, out.C, out.M, out.Q = l.A, l.B, l.C, l.M, l.Q
	case memory.Measured:
		out.MB, out.Seconds = l.MB, l.Mean
	}
	return out
}

// numbers reports whether the law has what a fit would give.
func (l Law) numbers() bool {
	return l.A != 0 || l.B != 0 || l.C != 0 || l.K != 0 || len(l.MB) > 0 || len(l.Seconds) > 0
}

// law checks the numbers. key is the law's place in the file.
func (l Law) law(key string) (memory.Law, error) {
	for _, p := range [...]struct {
		name  string
		value float64
	}{{"a", l.A}, {"b", l.B}, {"c", l.C}, {"k", l.K}, {"m", l.M}, {"q", l.Q}} {
		if !(p.value >= 0) || math.IsInf(p.value, 0) {
			return nil, bounds.Errorf(key+"."+p.name, "is %g, want a number from 0", p.value)
		}
	}
	if l.Form != memory.Table && l.A == 0 && l.B == 0 {
		return nil, bounds.Errorf(key, "has neither a nor b: a run takes no time")
	}
	switch l.Form {
	case memory.Exponential:
		return memory.Exp{A: l.A, B: l.B, C: l.C}, nil
	case memory.Knee:
		if l.K == 0 {
			return nil, bounds.Errorf(key+".k", "is 0, want the size in MB from which on more memory changes nothing")
		}
		return memory.Inverse{A: l.A, B: l.B, K: l.K}, nil
	case memory.Single, memory.Multi:
		s := memory.Step{Case: l.Form, A: l.A, B: l.B, C: l.C, M: l.M, Q: l.Q}
		if s.M == 0 {
			s.M = memory.SingleCore
		}
		if s.Q == 0 {
			return nil, bounds.Errorf(key+".q", "is 0, want the cores that the code can use")
		}
		return s, nil
	case memory.Table:
		return l.table(key)
	}
	return nil, bounds.Errorf(key+".form", "is %q, want %v", l.Form, memory.Forms())
}

func (l Law) table(key string) (memory.Law, error) {
	n := len(l.MB)
	if n == 0 || len(l.Seconds) != n {
		return nil, bounds.Errorf(key, "has %d sizes (mb) and %d times (seconds), want as many of both, at least one", n,
			len(l.Seconds))
	}
	for i, mb := range l.MB {
		switch s := l.Seconds[i]; {
		case !(mb > 0) || math.IsInf(mb, 0) || i > 0 && !(mb > l.MB[i-1]):
			return nil, bounds.Errorf(key+".mb", "has %g MB as its size %d, want positive numbers that ascend", mb, i+1)
		case !(s > 0) || math.IsInf(s, 0):
			return nil, bounds.Errorf(key+".seconds", "has %g s as its time %d, want positive numbers", s, i+1)
		}
	}
	return memory.Measured{MB: l.MB, Mean: l.Seconds}, nil
}
