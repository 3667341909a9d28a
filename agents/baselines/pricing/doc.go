// Package pricing holds the baselines of HOPS on stoker/Pricing-v1 and stoker/PricingSlots-v1, a file each: the
// schedulers [ARMS] (the paper's own), [Torpor], [HASGPU] and [MQFQ], which are policies of the slots' face, and the
// pricers [SPSS] (static prices) and PBA. A scheduler says which kind of pool it is made for and refuses others.
//
// Not here: the environments (envs/pricing), and Algorithm 1 (agents/spsa).
package pricing
