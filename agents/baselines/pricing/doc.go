// Package pricing holds HOPS' baselines for stoker/Pricing-v1 and stoker/PricingSlots-v1, one in each file: the
// schedulers [ARMS] (the paper's own), [Torpor], [HASGPU] and [MQFQ], which are policies of the slots environment, and
// the pricers [SPSS] (static prices) and PBA. A scheduler refuses a pool that it is not made for, and names the one it
// wants.
//
// Not here: the environments (envs/pricing), and Algorithm 1 (agents/spsa).
package pricing
