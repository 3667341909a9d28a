package perfmodel

// fitted is written by: go test ./envs/sizing/calibrate -run TestLaws -update
//
// Work, CV, Parallel, Overhead and Crowding minimise the differences of ln p75 and ln p95 between the
// simulation and the fitted half of the published measurements (calibrate.FitLaws, calibrate.Split). The
// rest was set by hand: resnet's Memory and each Spoilt from the numbers of failures, Payload from the
// network rates.
var fitted = map[string]Law{
	"starter": {
		Work: 0.715, CV: 0.109, Parallel: 1.716, Overhead: 0.180, Crowding: 0.144, Spoilt: 1,
		Memory: 0, Idle: 8, Payload: 160000,
		Source: "fitted to FaaSConf's measurements",
	},
	"rgb": {
		Work: 0.773, CV: 0.100, Parallel: 1.152, Overhead: 0.196, Crowding: 0.131, Spoilt: 1,
		Memory: 0, Idle: 8, Payload: 160000,
		Source: "fitted to FaaSConf's measurements",
	},
	"resize": {
		Work: 0.741, CV: 0.102, Parallel: 1.055, Overhead: 0.241, Crowding: 0.087, Spoilt: 1,
		Memory: 0, Idle: 8, Payload: 60000,
		Source: "fitted to FaaSConf's measurements",
	},
	"update": {
		Work: 0.709, CV: 0.104, Parallel: 0.989, Overhead: 0.146, Crowding: 0.146, Spoilt: 1,
		Memory: 0, Idle: 8, Payload: 60000,
		Source: "fitted to FaaSConf's measurements",
	},
	"resnet": {
		Work: 2.022, CV: 0.042, Parallel: 1.505, Overhead: 0.177, Crowding: 0.129, Spoilt: 0.35,
		Memory: 250, Idle: 8, Payload: 60000,
		Source: "fitted to FaaSConf's measurements",
	},
	"mobilenet": {
		Work: 1.141, CV: 0.107, Parallel: 0.938, Overhead: 0.168, Crowding: 0.134, Spoilt: 0.5,
		Memory: 0, Idle: 8, Payload: 160000,
		Source: "fitted to FaaSConf's measurements",
	},
}
