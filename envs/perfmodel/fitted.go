package perfmodel

// fitted is written by envs/sizing/calibrate.
var fitted = map[string]Law{
	"starter":   {Work: 0.766, CV: 0.3, Parallel: 1.155, Overhead: 0.335, Crowding: 0.05, Spoilt: 1, Idle: 8, Payload: 160_000, Source: "fitted"},
	"rgb":       {Work: 0.743, CV: 0.3, Parallel: 1.033, Overhead: 0.244, Crowding: 0.05, Spoilt: 1, Idle: 8, Payload: 160_000, Source: "fitted"},
	"resize":    {Work: 0.549, CV: 0.3, Parallel: 0.878, Overhead: 0.541, Crowding: 0.05, Spoilt: 1, Idle: 8, Payload: 60_000, Source: "fitted"},
	"update":    {Work: 0.513, CV: 0.3, Parallel: 0.726, Overhead: 0.470, Crowding: 0.05, Spoilt: 1, Idle: 8, Payload: 60_000, Source: "fitted"},
	"resnet":    {Work: 1.932, CV: 0.3, Parallel: 2.625, Overhead: 0.331, Crowding: 0.05, Spoilt: 0.35, Memory: 250, Idle: 8, Payload: 60_000, Source: "fitted"},
	"mobilenet": {Work: 1.120, CV: 0.3, Parallel: 0.931, Overhead: 0.315, Crowding: 0.05, Spoilt: 0.5, Idle: 8, Payload: 160_000, Source: "fitted"},
}
