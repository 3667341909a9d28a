// Package calibrate fits the sizing environment to what was measured: the laws of FaaSConf's functions, and the
// thresholds that its text leaves open.
//
// [Compare] holds the environment, under the protocol of the published measurements, against their rows, beside what
// two simulations of a row differ by; [Neighbours] says what measurements differ by; [FitLaws] searches the laws with
// which the simulation agrees best, on half of the rows ([Split]); [Thresholds] is an experiment on the environment
// alone. Their results are constants in envs/perfmodel and envs/sizing, which the tests here check, and redo under
// -update. The laws need the published file, found by STOKER_DATA. The factor of the default trace needs the oracle,
// and is found beside it, in agents/baselines/sizing.
package calibrate
