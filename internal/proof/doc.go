// Package proof keeps what a proof measured: the claim, the bound that it must hold, the figure that was seen and the
// command that shows it again. Tests call [Claim]; `docs/results/keep` says where the rows go, and `docs/results/keep table`
// makes docs/claims.md of them. What a claim means is the test's affair, not this package's.
package proof
