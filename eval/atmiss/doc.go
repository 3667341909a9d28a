// Package atmiss compares methods at equal misses. A method that keeps a limit more often mostly pays more, so prices
// alone say little: each method is played at several settings of what trades the one against the other (the quantile that
// it plans with, the price of a miss that it is told), all on the same requests, and its price is read where as many
// requests are late as in the others' readings.
//
//	curves, err := atmiss.Play(ctx, atmiss.Request{...})   // each method at each setting
//	readings, err := atmiss.Compare(curves, "stepconf", atmiss.Options{Levels: []float64{0.01, 0.05}})
//
// Between neighbouring settings price and misses are interpolated: a mix of the two, chosen by lot before a request, has
// exactly these. Intervals are of the paired bootstrap over requests, in groups where several are of one workflow, and
// over training seeds.
//
// Statistics of one metric by itself are in package stats.
package atmiss
