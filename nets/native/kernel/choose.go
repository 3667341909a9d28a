package kernel

import (
	"fmt"
	"strings"
)

// Best returns the fastest assembly that this CPU and its operating system can run, or nil.
func Best() *Set {
	for _, name := range offered() {
		return assembly(name)
	}
	return nil
}

// Named returns the kernels avx512, avx2 or go. Results of assembly and of go differ only by rounding. The error
// lists the names that this CPU offers.
func Named(name string) (*Set, error) {
	if name == "go" {
		return Reference(), nil
	}
	for _, o := range offered() {
		if o == name {
			return assembly(name), nil
		}
	}
	return nil, fmt.Errorf("kernel: kernels are %q, want one of those that this CPU offers: %s", name,
		strings.Join(append(offered(), "go"), ", "))
}
