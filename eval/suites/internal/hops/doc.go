// Package hops is the suite of HOPS (Huang et al., Joint Pricing and Scheduling for SLA-aware Serverless GPU
// Services): its Figs. 2 to 4 on generated arrivals and on a day of Azure, and the control that the paper lacks, the
// same rivals at other prices.
//
// A policy of the suite is a scheduler with prices above it: static prices, the paper's pricer (PBA), or a trained
// policy (package zoo). Each plays stoker/Pricing-v1 with its scheduler inside, with the pool that the scheduler is
// made for. Under one workload seed all face the same jobs, as far as their prices attract the same users.
//
// policies.go lists the policies, match.go what they did, with a second simulator's numbers; suite.go has the paper's
// numbers, and plays Figs. 2 to 4; figures.go draws them; control.go is the control of prices, claims.go the table of the
// paper's claims. Nothing here is fitted: the constants are those of pricing.Default and spsa.Default. docs/hops.md
// discusses the result.
package hops
