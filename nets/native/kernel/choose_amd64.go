package kernel

import "golang.org/x/sys/cpu"

// offered lists the sets of kernels in assembly that run here, fastest first. What the operating system does not save at a switch of
// threads, x/sys/cpu does not report.
func offered() []string {
	x := &cpu.X86
	avx2 := x.HasAVX2 && x.HasFMA && x.HasBMI2
	var names []string
	if avx2 && x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL {
		names = append(names, "avx512")
	}
	if avx2 {
		names = append(names, "avx2")
	}
	return names
}

// assembly returns one of the sets offered.
func assembly(name string) *Set {
	if name == "avx512" {
		return checked(&unchecked{product: avx512Product, Set: Set{Name: name}})
	}
	return checked(&unchecked{product: avx2Product, Set: Set{Name: name}})
}
