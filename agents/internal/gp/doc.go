// Package gp is Gaussian process regression and the acquisition functions of Bayesian optimisation.
//
//	m, err := gp.New(gp.Config{Kernel: gp.Matern52, Length: gp.Range(1, 1e-5, 1e5), Signal: gp.Fixed(1),
//		Noise: gp.Fixed(1e-5), Restarts: 2}, inputs)
//	err = m.Fit(x, y, rng.NewStream(seed, "gp"))
//	q := m.Query()
//	q.At(point)
//	ei, dMean, dSD := gp.Expected(q.Mean, q.SD, best)
//	q.Gradient(dMean, dSD, gradient)
//
// A [Model] has the kernel σ²·k(r), r² = Σ ((x_j − x'_j)/ℓ_j)², with one length scale or one for each input, and noise
// of one variance. [Model.Fit] maximises the log marginal likelihood over the logarithms of what is not fixed, within
// bounds, from several starts. A [Query] gives mean and standard deviation at a point with their gradients;
// [Model.Joint] the joint posterior of several points; [Model.LeaveOneOut] what each row looks like to the others.
//
// [Expected] is expected improvement, [Feasible] a probability of feasibility, [Hypervolume] the expected hypervolume
// improvement of two objectives, [NoisyEI] expected improvement under noise and constraints. [Maximize] searches for
// the largest value in a box. [Scrambled] draws quasi-random points.
//
// Inputs are row-major: n rows of d numbers. Outputs are the caller's to standardise. The equations are those of
// Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), chapters 2 and 5, named as GPML. The tests
// compare with scikit-learn on stored vectors (testdata/vectors.py wrote them).
//
// A model serves one goroutine at a time. Not here: what the tuners do with it (agents/baselines/sizing).
package gp
