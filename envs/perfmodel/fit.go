package perfmodel

import "math"

// Fit is the regression ln p75 = A + B·ln(cpu/1000) + C·ln(replicas) + D·ln(concurrency) of a function's latency in
// seconds, and the standard deviation of its residuals.
type Fit struct {
	Function   string
	A, B, C, D float64
	Residual   float64
}

// P75 returns the regression's 75th percentile of the latency in seconds.
func (f *Fit) P75(cpu, replicas, concurrency int) float64 {
	return math.Exp(f.A + float64(f.B*math.Log(float64(cpu)/1000)) + float64(f.C*math.Log(float64(replicas))) +
		float64(f.D*math.Log(float64(concurrency))))
}

// FaaSConfFit returns the regression over FaaSConf's published measurements of Parallel under 10 users (1,299
// configurations).
func FaaSConfFit() []Fit {
	return []Fit{
		{"starter", 1.244, -1.467, -0.638, 0.299, 0.33},
		{"rgb", 1.195, -1.427, -0.635, 0.202, 0.34},
		{"resize", 0.937, -1.250, -0.496, 0.119, 0.31},
		{"update", 0.865, -1.180, -0.427, 0.078, 0.29},
		{"resnet", 2.146, -1.446, -0.486, 0.143, 0.29},
		{"mobilenet", 1.591, -1.398, -0.557, 0.165, 0.28},
	}
}
