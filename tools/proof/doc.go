// Package proof is the table of long proofs: measurements that take longer than `make test` and whose results are
// stored under docs/results. Tests report what they measured with [Claim] and [Log]. [Table] lists the proofs: what
// each claims, the commands that measure it, what they need, and a short run. The bytes that the short run writes tell
// whether the stored result still describes the code.
//
// Command verify (tools/proof/verify) runs proofs, lists which results are fresh, and generates docs/claims.md. The
// meaning of a claim is defined by the test that makes it, not here.
package proof
