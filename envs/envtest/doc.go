// Package envtest checks that an environment fulfils the contract of package envs, as testing/fstest does for file
// systems. [Run] is for tests, [Check] for programs (stoker envs ID --check).
//
// It checks the spec; that spaces contain the observations; seeding and determinism; the end of episodes; allocation;
// copies and saved state, byte for byte and step for step; that illegal actions and unknown options are refused; masks;
// inactive agents; rewards, infos and elapsed time; that the environment neither keeps nor reads the caller's buffers;
// and that draws are keyed by their purpose, not by the order of service. The tests of this package build environments
// with one defect each and check that the right check finds it.
//
// It does not check whether the dynamics are right: the tests of the environment's own package do.
package envtest
