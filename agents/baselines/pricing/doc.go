// Package pricing holds what HOPS is compared with on stoker/Pricing-v1 and stoker/PricingSlots-v1: [ARMS] its own
// scheduler, [SPSS] static prices above it, and the schedulers of [Torpor], [HASGPU] and [MQFQ] as they act in a world
// of slots. Each is one file. The schedulers are policies of the slots' face; SPSS is one of the pricing face. A
// scheduler says which kind of pool it is made for and refuses others.
package pricing
