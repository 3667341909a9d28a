// Package bundle reads and writes bundles: files NAME.stoker that hold a policy with all that a program needs to serve it.
//
// A bundle is one safetensors file. Its tensors are the policy's arrays; its metadata are JSON texts: what is seen and
// done (stoker.spec), who made the policy (stoker.agent), the environment's configuration (stoker.environment), the
// ranges of features met in the evaluation (stoker.seen), where the policy comes from (stoker.provenance), how it was
// judged (stoker.evaluation), the rule that acts in its place (stoker.fallback), and observations with the actions that
// must come out (stoker.selftest). The JSON is canonical and nothing depends on time or place: the same [File] gives the
// same bytes.
//
// Two entries of metadata are digests, so that any changed byte is found, and found out where: stoker.sha256.tensors
// has the SHA-256 of each tensor, and stoker.sha256 that of the header with 64 zeros in its own place. The digest by
// which a bundle is named, [Digest], is the SHA-256 of the whole file.
//
// Not here: what the texts mean. This package knows neither environments nor agents; package policy opens what is read
// here, and writing a bundle from a run is eval/export.
package bundle
