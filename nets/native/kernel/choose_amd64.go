package kernel

import "golang.org/x/sys/cpu"

// offered lists the assembly kernels that run on this CPU, fastest first. x/sys/cpu reports an instruction set only
// if the operating system saves its registers at a thread switch.
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

// assembly returns the set of one of the offered names.
func assembly(name string) *Set {
	if name == "avx512" {
		return checked(&unchecked{
			Set: Set{
				Name: name, Transpose: avx512Transpose, Dots: avx512Dots, RowDots: avx512RowDots,
				Scores: avx512Scores, Mix: avx512Mix, Scatter: avx512Scatter, Softmax: avx512Softmax,
				SoftmaxBack: avx512SoftmaxBack,
				Sigmoid:     avx512Sigmoid, Tanh: avx512Tanh, SigmoidBack: avx512SigmoidBack, TanhBack: avx512TanhBack,
				ReLUBack: avx512ReLUBack, Gumbel: avx512Gumbel, OneHot: avx512OneHot, Pack: avx512Pack,
				Norm: avx512Norm, NormBack: avx512NormBack, Axpy: avx512Axpy, Lerp: avx512Lerp, Adam: avx512Adam,
			},
			scores:  [...]scoresFunc{2: avx512Scores2, 3: avx512Scores3, 4: avx512Scores4, 6: avx512Scores6},
			mix:     [...]mixFunc{2: avx512Mix2, 3: avx512Mix3, 4: avx512Mix4, 6: avx512Mix6},
			product: avx512Product, vector: avx512Vector, update: avx512Update, peak: avx512Peak, round: 24 * 16,
			sumSquares: func(x []float32) float64 {
				var s [Lanes]float64
				for len(x) > pieceElements {
					avx512SumSquares(&s, x[:pieceElements])
					x = x[pieceElements:]
				}
				avx512SumSquares(&s, x)
				return tree(&s)
			},
		})
	}
	return checked(&unchecked{
		Set: Set{
			Name: name, Transpose: avx2Transpose, Dots: avx2Dots, RowDots: avx2RowDots,
			Scores: avx2Scores, Mix: avx2Mix, Scatter: avx2Scatter, Softmax: avx2Softmax, SoftmaxBack: avx2SoftmaxBack,
			Sigmoid: avx2Sigmoid, Tanh: avx2Tanh, SigmoidBack: avx2SigmoidBack, TanhBack: avx2TanhBack,
			ReLUBack: avx2ReLUBack, Gumbel: avx2Gumbel, OneHot: avx2OneHot, Pack: avx2Pack,
			Norm: avx2Norm, NormBack: avx2NormBack, Axpy: avx2Axpy, Lerp: avx2Lerp, Adam: avx2Adam,
		},
		scores:  [...]scoresFunc{2: avx2Scores2, 3: avx2Scores3, 4: avx2Scores4, 6: avx2Scores6},
		mix:     [...]mixFunc{2: avx2Mix2, 3: avx2Mix3, 4: avx2Mix4, 6: avx2Mix6},
		product: avx2Product, vector: avx2Vector, update: avx2Update, peak: avx2Peak, round: 12 * 8,
		sumSquares: func(x []float32) float64 {
			var s [Lanes]float64
			for len(x) > pieceElements {
				avx2SumSquares(&s, x[:pieceElements])
				x = x[pieceElements:]
			}
			avx2SumSquares(&s, x)
			return tree(&s)
		},
	})
}
