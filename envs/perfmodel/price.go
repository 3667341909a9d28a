package perfmodel

// Rates are prices of resources that are held, whether used or not.
type Rates struct {
	// CPU is in USD per millicore and hour, Memory in USD per MB and hour.
	CPU, Memory float64
}

// FaaSConfRates are the rates in FaaSConf's code and data: 0.173 USD per vCPU-hour and 0.012 USD per 1000 MB and hour.
// With them the price column of the published measurements comes out exactly.
func FaaSConfRates() Rates { return Rates{CPU: 0.000173, Memory: 0.000012} }

// FaaSConfPaperRates are those of the paper's text: 0.0123 USD per GB-hour. They miss the published prices by up to
// 0.017 USD/h.
func FaaSConfPaperRates() Rates { return Rates{CPU: 0.000173, Memory: 0.0000123} }

// Hourly returns the price in USD per hour of replicas instances of cpu millicores and memory MB (FaaSConf's Eq. 2
// without its execution time, as its code and data have it).
func (r Rates) Hourly(cpu, memory, replicas int) float64 {
	return float64((float64(float64(cpu)*r.CPU) + float64(float64(memory)*r.Memory)) * float64(replicas))
}
