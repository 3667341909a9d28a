package perfmodel

// Rates are the prices of allocated resources, used or unused.
type Rates struct {
	// CPU is in USD per millicore-hour, Memory in USD per MB-hour.
	CPU, Memory float64
}

// FaaSConfRates are the rates in FaaSConf's code and data: 0.173 USD per vCPU-hour and 0.012 USD per 1000 MB and hour.
// They give the prices in the published measurements exactly.
func FaaSConfRates() Rates { return Rates{CPU: 0.000173, Memory: 0.000012} }

// FaaSConfPaperRates are the rates in the paper's text: 0.0123 USD per GB-hour. They differ from the published prices
// by up to 0.017 USD/h.
func FaaSConfPaperRates() Rates { return Rates{CPU: 0.000173, Memory: 0.0000123} }

// Hourly returns the price in USD per hour of a number of replicas with cpu millicores and memory MB each: FaaSConf's
// Eq. 2 without the execution time, as in its code and data.
func (r Rates) Hourly(cpu, memory, replicas int) float64 {
	return float64((float64(float64(cpu)*r.CPU) + float64(float64(memory)*r.Memory)) * float64(replicas))
}
