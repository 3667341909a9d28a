// Package envtest checks that an environment keeps the contract of package envs, in the manner of testing/fstest. [Run]
// is for tests, [Check] for programs (stoker envs ID --check).
//
// What it looks at: the spec; that spaces contain what is emitted; seeding and determinism; the end of episodes;
// allocation; copies and saved state, byte for byte and step for step; refused actions, masks and options; absent
// agents; rewards, infos and elapsed time; that no buffer of the caller is kept or read; and that draws are keyed by
// what they are for, not consumed in the order of service. Its own tests plant defects and see that each check finds
// those that are its own.
//
// Not here: whether the environment's dynamics are right. That is its own package's affair.
package envtest
