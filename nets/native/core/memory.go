package core

// Number is what an engine computes with.
type Number interface{ float32 | float64 }

// Convert sets dst to src.
func Convert[D, S Number](dst []D, src []S) {
	for i, v := range src {
		dst[i] = D(v)
	}
}

// Grow returns n numbers, whatever they are, in x's memory where that is enough. New memory has some to spare,
// as sizes differ from batch to batch.
func Grow[E any](x []E, n int) []E {
	if cap(x) < n {
		x = make([]E, n, max(n, cap(x)+cap(x)/4))
		largePages(x[:cap(x)])
	}
	return x[:n]
}
