// Package suitetest is what the tests of all evaluation suites need: [Same] runs a suite with one worker and with
// several and wants the same bytes, [Quick] does so with what stoker suite NAME --quick runs and claims that it is
// quick. It is to package suite what testing/fstest is to io/fs.
//
// Not here: what a suite finds, which its own tests look at.
package suitetest
