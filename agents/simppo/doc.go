// Package simppo is mean-field proximal policy optimisation in which agents come and go, after SIMPPO (Qiu et al., SoCC
// 2022): every function has a policy and a value of its own, which see the function and a virtual agent in place of all
// others, and what one function has learned stays with its name.
//
// Learning is that of package ppo with weights of each agent's own and mix mean: the virtual agent sees the mean of what
// the others see, which holds their last actions. All functions begin with the same weights. A policy or a run that is
// taken to a workflow with other functions keeps the weights of those that it knows, bit for bit; a new function begins
// with the mean of the others' weights (functions.go). With learn: new only new functions learn then.
package simppo
