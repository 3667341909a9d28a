// Package pricing is HOPS as environments: a provider of serverless GPU functions sets prices and keep-alive vGPUs of
// its service tiers for every window, and a scheduler deploys functions on vGPUs in every slot of it (Huang et al.,
// Joint Pricing and Scheduling for SLA-aware Serverless GPU Services). One simulation serves two environments:
// stoker/Pricing-v1, a step of which is a window with a scheduling policy inside, and stoker/PricingSlots-v1, a step of
// which is a slot with a window policy inside.
//
// Equation numbers are the paper's. Where it is silent or contradicts itself the default is named in docs/pricing.md
// and the other reading is a switch of [Config].
//
// Only the clock is the shared simulator's (package sim): its events, nodes and meters serve requests of any length at
// any moment and cost half a microsecond each, whereas here all that happens happens at a slot's edge. Jobs and vGPUs
// lie in calendars with one bucket per slot, so that a slot costs its arrivals and a pass over the functions, however
// many vGPUs there are.
//
// What is where: config.go what can be configured; demand.go tiers' demand (eq. 1) and the potential load; jobs.go
// arrivals, queues and lateness; pool.go vGPUs; window.go what happens in which order, and the accounts (eqs. 2 to 10);
// pricing.go, slots.go and observe.go the two environments; meters.go and observer.go what a provider measures and sets,
// from which the environments make their observations too; arms.go the paper's scheduler, which is part of the pricing
// environment's world; world.go its fields, which are copied and saved; restore.go checks what was saved. The baselines
// are in agents/baselines/pricing.
package pricing
