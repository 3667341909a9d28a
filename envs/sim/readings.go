package sim

import "math"

// Seconds is the time measured.
func (m *Meter) Seconds() float64 { return m.span.Seconds() }

func (m *Meter) average(w wide) float64 {
	if m.span <= 0 {
		return 0
	}
	return w.float() / float64(m.span)
}

// spread turns the moments of n times into mean, standard deviation (of the sample itself) and maximum, in seconds.
func (t *moments) spread(n int64) (mean, sd, top float64) {
	if n == 0 {
		return 0, 0, 0
	}
	mean = t.sum.float() / float64(n)
	variance := t.square.float()/float64(n) - float64(mean*mean)
	return mean / 1e6, math.Sqrt(max(0, variance)) / 1e6, t.max.Seconds()
}

// Latency gives mean, standard deviation and maximum of completed requests' time from arrival to end; zeros if
// none completed.
func (m *Meter) Latency() (mean, sd, top float64) { return m.latency.spread(m.Completed) }

// Wait gives mean, standard deviation and maximum of started attempts' time from arrival to start.
func (m *Meter) Wait() (mean, sd, top float64) { return m.wait.spread(m.Started) }

// Quantile is the latency that a share q of the completed requests did not exceed, to the sketch's relative error; 0 if
// none completed or no sketch is kept.
func (m *Meter) Quantile(q float64) float64 {
	if !m.sketched {
		return 0
	}
	return min(m.sketch.Quantile(q), m.latency.max).Seconds()
}

// Sketch gives the latency histogram, the meter's own; nil if none is kept.
func (m *Meter) Sketch() *Sketch {
	if !m.sketched {
		return nil
	}
	return &m.sketch
}

// Throughput is completed requests a second.
func (m *Meter) Throughput() float64 {
	if m.span <= 0 {
		return 0
	}
	return float64(m.Completed) / m.span.Seconds()
}

// Queued is the mean number of waiting requests, those bound to a starting instance included.
func (m *Meter) Queued() float64 { return m.average(m.area[lvWaiting]) }

// Running is the mean number of running requests.
func (m *Meter) Running() float64 { return m.average(m.area[lvRunning]) }

// InSystem is the mean number of requests, waiting or running.
func (m *Meter) InSystem() float64 { return m.Queued() + m.Running() }

// Instances is the mean number of placed instances: starting, idle, busy and draining.
func (m *Meter) Instances() float64 { return m.average(m.area[lvPlaced]) }

// StartingInstances is the mean number of starting instances.
func (m *Meter) StartingInstances() float64 { return m.average(m.area[lvStarting]) }

// BusyInstances is the mean number of instances that run something.
func (m *Meter) BusyInstances() float64 { return m.average(m.area[lvBusy]) }

// AllocatedCPU is the mean of placed instances' millicores.
func (m *Meter) AllocatedCPU() float64 { return m.average(m.area[lvCPU]) }

// UsedCPU is the mean of millicores in use: see Function.RequestCPU.
func (m *Meter) UsedCPU() float64 { return m.average(m.area[lvUsedCPU]) }

// ThrottledCPU is the mean of millicores wanted beyond the allocation: see Function.RequestCPU.
func (m *Meter) ThrottledCPU() float64 { return m.average(m.area[lvThrottled]) }

// Utilisation is used over allocated CPU, 0 where none is allocated.
func (m *Meter) Utilisation() float64 {
	if all := m.AllocatedCPU(); all > 0 {
		return m.UsedCPU() / all
	}
	return 0
}

// AllocatedMemory is the mean of placed instances' MB.
func (m *Meter) AllocatedMemory() float64 { return m.average(m.area[lvMemory]) }

// UsedMemory is the mean of MB in use: see Function.IdleMemory.
func (m *Meter) UsedMemory() float64 { return m.average(m.usedMem) }

// AllocatedGPU is the mean of placed instances' GPU slices.
func (m *Meter) AllocatedGPU() float64 { return m.average(m.area[lvGPU]) }

// BusyGPU is the mean of busy instances' GPU slices.
func (m *Meter) BusyGPU() float64 { return m.average(m.area[lvBusyGPU]) }

// InstanceSeconds is the time that instances were placed, summed over them.
func (m *Meter) InstanceSeconds() float64 { return m.area[lvPlaced].float() / 1e6 }

// GPUSliceSeconds is the time that GPU slices were allocated, summed over them.
func (m *Meter) GPUSliceSeconds() float64 { return m.area[lvGPU].float() / 1e6 }

// Cost is the window's price in USD.
func (m *Meter) Cost(p Prices) float64 {
	cpu, mem, gpu := m.area[lvCPU], m.area[lvMemory], m.area[lvGPU]
	if p.BusyOnly {
		cpu, mem, gpu = m.area[lvBusyCPU], m.area[lvBusyMem], m.area[lvBusyGPU]
	}
	const hour = float64(Hour)
	usd := float64(p.VCPUHour * (cpu.float() / 1000 / hour))
	usd += float64(p.GBHour * (mem.float() / 1000 / hour))
	usd += float64(p.GPUSliceHour * (gpu.float() / hour))
	return usd + float64(p.Request*float64(m.Started))
}
