// Package calibrate fits the sizing environment to what was measured: the laws of FaaSConf's functions, the thresholds
// that its text leaves open, and the factor by which the default trace is scaled.
//
// [Compare] holds the environment, under the protocol of the published measurements, against their rows; [FitLaws] searches the
// laws with which it agrees best; [Thresholds] and [Factor] are experiments on the environment alone. Their results are constants elsewhere
// (envs/perfmodel, envs/sizing, configs), which the tests here check, and redo under -update. The laws need the published file, found
// by STOKER_DATA.
package calibrate
