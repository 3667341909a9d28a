package perfmodel

import (
	"fmt"
)

// FaaSConf returns the law of one of FaaSConf's functions by its name in the published code. The seven machine-learning
// functions' laws are fitted to the published measurements (see fitted.go); those of TcktApp's twelve are our
// estimates.
func FaaSConf(function string) (Law, error) {
	if l, ok := fitted[function]; ok {
		return l, nil
	}
	// There are no measurements of load. It has rgb's law, since both fetch an image and encode it as JPEG.
	if function == "load" {
		l := fitted["rgb"]
		l.Source = "ours: rgb's law"
		return l, nil
	}
	if own, ok := tcktapp[function]; ok {
		return ticket(own), nil
	}
	return Law{}, fmt.Errorf("perfmodel: there is no law for function %q", function)
}

// tcktapp holds the seconds of work at ticketCPU, without calls, of TcktApp's functions. They are our estimates:
// FaaSConf's code has a reference p75 of each function; from that of a caller we subtract its callees' and 5 ms for
// each call. The entry's 3.51 s (which the code lists second, unlike its own measured row) cannot be the time of one
// request, since each instance takes one request at a time: 20 users had 110 responses in 30 s and a p75 of 6.78 s,
// which four instances give if a request takes 1.09 s. Of these, 0.46 s are calls.
var tcktapp = map[string]float64{
	"get-left-trip-tickets":                0.6300,
	"get-left-ticket-of-interval":          0.0815,
	"get-price-by-routeid-and-traintype":   0.0118,
	"get-route-by-routeid":                 0.0083,
	"get-route-by-tripid":                  0.0250,
	"get-sold-tickets":                     0.0082,
	"get-traintype-by-traintypeid":         0.0100,
	"get-traintype-by-tripid":              0.0222,
	"query-already-sold-orders":            0.0110,
	"query-config-entity-by-config-name":   0.0088,
	"query-for-station-id-by-station-name": 0.0109,
	"query-for-travel":                     0.1635,
}

// ticketCPU is the CPU limit in millicores at which we assume that TcktApp's reference latencies were measured: the
// middle of its range.
const ticketCPU = 625

func ticket(own float64) Law {
	l := Law{
		CV: 0.3, Parallel: 1, Overhead: fitted["starter"].Overhead, Spoilt: 1, Idle: 80, Payload: 2_000,
		Source: "ours: from the reference latencies in FaaSConf's code",
	}
	l.Work = 1
	l.Work = own / l.Alone(ticketCPU)
	return l
}

// Rates are the prices of allocated resources, used or unused.
type Rates struct {
	// CPU is in USD per millicore-hour, Memory in USD per MB-hour.
	CPU, Memory float64
}

// Hourly returns the price in USD per hour of a number of replicas with cpu millicores and memory MB each: FaaSConf's
// Eq. 2 without the execution time, as in its code and data.
func (r Rates) Hourly(cpu, memory, replicas int) float64 {
	return float64((float64(float64(cpu)*r.CPU) + float64(float64(memory)*r.Memory)) * float64(replicas))
}
