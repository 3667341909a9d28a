// Package calibrate fits the sizing environment to FaaSConf's published measurements: the laws of its functions, and
// the QoS thresholds that the paper does not give.
//
// [Compare] simulates the configurations of the published rows under the same protocol and compares the results with
// the rows, and two simulations of a row with each other. [Neighbours] estimates how much repeated measurements differ.
// [FitLaws] searches for the laws with which the simulation agrees best with half of the rows ([Split]). [Thresholds]
// is an experiment on the environment alone. The results are constants in envs/perfmodel and envs/sizing; the tests of
// this package check them, and compute them again under -update. The laws need the published file, in the folder named
// by STOKER_DATA. The factor of the default trace needs the oracle, and is therefore computed in
// agents/baselines/sizing.
package calibrate
