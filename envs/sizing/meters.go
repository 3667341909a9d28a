package sizing

import (
	"bytes"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
)

// Meters is what a platform measures of a workflow in a window of 30 s, and what is deployed there: all that the agents
// see. The simulator fills it as a platform does; [Observer] makes the observation from it.
type Meters struct {
	// Functions are the workflow's, in the order of [Observer.Functions].
	Functions []FunctionMeters `json:"functions"`
	// Began is the number of requests that entered the workflow in the window.
	Began int `json:"began" unit:"requests that entered in the window"`
	// Users is the number of closed-loop users, where the policy was trained under them; else 0.
	Users int `json:"users,omitempty" unit:"closed-loop users"`
	// Latency is the mean end-to-end latency of the successes, in seconds: 0 where no request began, 30 where requests
	// began and none succeeded.
	Latency float64 `json:"latency" unit:"s, mean of the successes"`
	// Success is the share of successes among the requests that ended: 1 where there were no requests, 0 where there were
	// some and none succeeded.
	Success float64 `json:"success" unit:"share of the requests that ended, 0 to 1"`
	// Successes is the number of requests that ended well. It is read where Users is.
	Successes int `json:"successes,omitempty" unit:"requests that ended well"`
	// Forecast is the load expected in the next window, in requests a second. A policy that was trained with load_known
	// or load_next under arrivals needs it; others do not read it.
	Forecast *float64 `json:"forecast,omitempty" unit:"requests/s expected in the next window"`
	// Dial is what a window that keeps the QoS is worth (reward.dial). It is needed where the policy was trained under a
	// range of dials; with a single one 0 stands for that.
	Dial float64 `json:"dial,omitempty" unit:"what a window that keeps the QoS is worth"`
	// History is of the windows before.
	History History `json:"history,omitzero"`
}

// FunctionMeters is what a platform measures of one function in a window. Sums are over all of its instances.
type FunctionMeters struct {
	// Asked is what the policy asked for last; the zero value before its first decision.
	Asked Settings `json:"asked,omitzero"`
	// Deployed is what was in force at the window's end. It differs from Asked where that was beyond the machines.
	Deployed Settings `json:"deployed"`
	// Action is the function's part of the policy's last action, numbers from 0 to 1. Empty stands for the action that
	// gives Asked, which differs from it by what rounding lost.
	Action []float32 `json:"action,omitempty" unit:"numbers from 0 to 1: the last action as it was"`
	// Instances is the number of instances, the mean over the window.
	Instances float64 `json:"instances" unit:"instances, mean of the window"`
	// CPU is what they used, in percent of a core: 150 is one and a half cores.
	CPU float64 `json:"cpu_percent" unit:"% of a core, sum of the instances"`
	// Throttled is the CPU that they wanted beyond their limits, in millicores.
	Throttled float64 `json:"throttled_millicores" unit:"millicores wanted beyond the limits, sum"`
	// Memory is what they used, MemoryLimit the sum of their limits, both in MB.
	Memory      float64 `json:"memory_mb" unit:"MB used, sum"`
	MemoryLimit float64 `json:"memory_limit_mb" unit:"MB, sum of the limits"`
	// Network is the payload that they received, in bytes a second.
	Network float64 `json:"network_bytes" unit:"bytes/s received, sum"`
	// P75 and P95 are percentiles of the function's latency in seconds: 0 where nothing arrived, 30 where requests arrived
	// and none ended.
	P75 float64 `json:"p75" unit:"s, percentile of the latency"`
	P95 float64 `json:"p95" unit:"s, percentile of the latency"`
	// Rejected is the share of the requests that the function turned away.
	Rejected float64 `json:"rejected" unit:"share of its requests, 0 to 1"`
	// Inside is the number of requests at the function, waiting ones included: the mean, or that at the window's end where
	// the function calls others.
	Inside float64 `json:"inside" unit:"requests at the function, waiting ones too"`
}

// History holds what is remembered of the windows before the last one. Its zero value is a platform that has measured
// nothing yet; [Meters.Next] keeps it.
type History struct {
	// Windows is the number of windows measured so far, the last one included.
	Windows int `json:"windows" unit:"windows measured so far"`
	// Began and Users are those of the window before the last one, 0 where there was none.
	Began int `json:"began" unit:"requests that entered in the window before"`
	Users int `json:"users,omitempty" unit:"closed-loop users in the window before"`
	// Slow is an exponential mean of Began over the windows before the last one: a new one weighs 0.2.
	Slow float64 `json:"slow" unit:"requests, mean of the windows before"`
}

// Next makes room for the measurements of the next window: those that are there become the last one's, and the history
// takes them in. Call it before the new numbers are written, also before the first ones.
func (m *Meters) Next() {
	h := &m.History
	if h.Windows > 0 {
		t := trend{float64(h.Began), h.Slow}
		t.pass(h.Windows, m.Began)
		h.Began, h.Users, h.Slow = m.Began, m.Users, t.slow
	}
	h.Windows++
}

// ParseMeters reads meters from JSON: an object, or a list of one object for each workflow of a policy for several side
// by side. It does not know the workflows; [Observer.Observe] checks the numbers.
func ParseMeters(data []byte) ([]Meters, error) {
	if !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("[")) {
		one := make([]Meters, 1)
		if err := envs.ParseMeasured(data, &one[0]); err != nil {
			return nil, fmt.Errorf("meters: %w", err)
		}
		return one, nil
	}
	var all []Meters
	if err := envs.ParseMeasured(data, &all); err != nil {
		return nil, fmt.Errorf("meters: %w", err)
	}
	return all, nil
}

// Limits of measurements. A measurement beyond them has a wrong unit, or is missing.
const (
	mostSeconds  = 1e6
	mostRequests = 1 << 30
	mostAmount   = 1e12
)

// measurement is a number with its key, and the most that it can be; the least is 0.
type measurement struct {
	key     string
	x, most float64
}

func (n *measurement) check() error { return bounds.Between(n.key, n.x, 0, n.most) }

// validate names the first number that cannot be, and its function by one of names.
func (m *Meters) validate(names []string) error {
	h := &m.History
	for _, n := range [...]measurement{
		{"began", float64(m.Began), mostRequests}, {"users", float64(m.Users), mostRequests},
		{"latency", m.Latency, mostSeconds}, {"success", m.Success, 1}, {"successes", float64(m.Successes), mostRequests},
		{"dial", m.Dial, 1e6}, {"history.windows", float64(h.Windows), math.MaxInt32},
		{"history.began", float64(h.Began), mostRequests}, {"history.users", float64(h.Users), mostRequests},
		{"history.slow", h.Slow, mostRequests},
	} {
		if err := n.check(); err != nil {
			return err
		}
	}
	if m.Forecast != nil {
		if err := bounds.Between("forecast", *m.Forecast, 0, mostRequests); err != nil {
			return err
		}
	}
	for f := range m.Functions {
		if err := m.Functions[f].validate(); err != nil {
			return ofFunction(f, names, err)
		}
	}
	return nil
}

// ofFunction says of which function an error is.
func ofFunction(f int, names []string, err error) error {
	return fmt.Errorf("functions[%d].%w, of %q", f, err, names[f])
}

func (m *FunctionMeters) validate() error {
	for _, n := range [...]measurement{
		{"instances", m.Instances, mostRequests}, {"cpu_percent", m.CPU, mostAmount},
		{"throttled_millicores", m.Throttled, mostAmount}, {"memory_mb", m.Memory, mostAmount},
		{"memory_limit_mb", m.MemoryLimit, mostAmount}, {"network_bytes", m.Network, mostAmount},
		{"p75", m.P75, mostSeconds}, {"p95", m.P95, mostSeconds}, {"rejected", m.Rejected, 1},
		{"inside", m.Inside, mostRequests},
	} {
		if err := n.check(); err != nil {
			return err
		}
	}
	for i, x := range m.Action {
		if !(x >= 0 && x <= 1) { // a key is made only where there is an error
			return bounds.Between(fmt.Sprintf("action[%d]", i), float64(x), 0, 1)
		}
	}
	if err := m.Asked.validate(); err != nil {
		return fmt.Errorf("asked.%w", err)
	}
	if err := m.Deployed.validate(); err != nil {
		return fmt.Errorf("deployed.%w", err)
	}
	return nil
}

// means are the numbers of an instance, the mean over all: CPU in percent of a core, throttled in millicores, memory in
// percent of the limit, network in bytes a second.
func (m *FunctionMeters) means() (cpu, throttled, memory, network float64) {
	if m.Instances > 0 {
		cpu, throttled, network = m.CPU/m.Instances, m.Throttled/m.Instances, m.Network/m.Instances
		if m.MemoryLimit > 0 {
			memory = 100 * m.Memory / m.MemoryLimit
		}
	}
	return cpu, throttled, memory, network
}
