// Package hops is the suite of HOPS (Huang et al., Joint Pricing and Scheduling for SLA-aware Serverless GPU
// Services): its Figs. 2 to 4 on generated arrivals and on a day of Azure, and the control that the paper lacks, the
// same rivals at other prices.
//
// A policy of the suite is a scheduler with prices above it: prices that stand still, the paper's pricer (PBA), or a
// policy that was trained (package zoo). Every one plays stoker/Pricing-v1 with its scheduler inside, on the terms
// that the scheduler is made for, and faces the same jobs under a workload seed as far as its prices bring the same
// ones.
//
// policies.go has who plays, worlds.go in what; main.go plays Figs. 2 to 4 and figure2.go to figure4.go draw them;
// control.go is the control of prices, paper.go what the paper says, reference.go a second simulator's numbers,
// learned.go policies that were trained. Nothing here is fitted: constants are those of pricing.Default and
// spsa.Default. docs/hops.md reads the result.
package hops
