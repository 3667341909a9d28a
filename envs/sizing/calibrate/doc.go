// Package calibrate fits the sizing environment to what was measured: the laws of FaaSConf's functions, and the thresholds that its
// text leaves open.
//
// [Compare] holds the environment, under the protocol of the published measurements, against their rows; [FitLaws] searches the
// laws with which it agrees best; [Thresholds] is an experiment on the environment alone. Their results are constants in
// envs/perfmodel and envs/sizing, which the tests here check, and redo under -update. The laws need the published file, found by
// STOKER_DATA. The factor of the default trace needs the oracle, and is found beside it, in agents/baselines/sizing.
package calibrate
