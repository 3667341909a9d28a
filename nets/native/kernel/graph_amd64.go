package kernel

// graphAssembly returns the graph kernels of an assembly set, or nil for the reference.
func graphAssembly(name string) *Graphs {
	switch name {
	case "avx512":
		return &Graphs{
			Weigh: avx512Weigh, Gather: avx512Gather, Combine: avx512Combine, Sums: avx512Sums, Spread: avx512Spread,
			NormRows: avx512NormRows, NormRowsBack: avx512NormRowsBack, BiasRows: avx512BiasRows,
			BiasRowsBack: avx512BiasRowsBack,
		}
	case "avx2":
		return &Graphs{
			Weigh: avx2Weigh, Gather: avx2Gather, Combine: avx2Combine, Sums: avx2Sums, Spread: avx2Spread,
			NormRows: avx2NormRows, NormRowsBack: avx2NormRowsBack, BiasRows: avx2BiasRows, BiasRowsBack: avx2BiasRowsBack,
		}
	}
	return nil
}
