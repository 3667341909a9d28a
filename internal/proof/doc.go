// Package proof is the table of long proofs: what takes longer than `make test` and is kept under docs/results. Tests
// report what they measured with [Claim] and [Log]. [Table] lists the proofs: what each claims, the commands that
// measure it, what they need, and the short run whose bytes tell whether the kept result still describes the code.
//
// Command verify (internal/proof/verify) runs proofs, says which results are fresh, and makes docs/claims.md. What a
// claim means is stated by the test that makes it, not here.
package proof
