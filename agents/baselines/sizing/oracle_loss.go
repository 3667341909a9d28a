package sizing

// window adds up the outcomes of requests.
type window struct {
	successes, failed, latency float64
	lost                       bool // the configuration was refused, or nothing ended well though there were requests
}

// add adds the last window of the copy that was stepped last.
func (p *Oracle) add(w *window) {
	in := p.out.Info
	n := in[p.info.successes]
	w.successes += n
	w.failed += in[p.info.failed]
	w.latency += n * in[p.info.latency]
	if in[p.info.refused] > 0 || n == 0 && in[p.info.violated] > 0 {
		w.lost = true
	}
}

// loss is the part of its weight that a window does not earn: 0 where it keeps the QoS, otherwise up to 1.
func (p *Oracle) loss(w *window) float64 {
	if w.lost && w.successes == 0 {
		return 1
	}
	if w.successes == 0 {
		return 0
	}
	c := &p.config
	missed, near := 0.0, 1.0
	// ratio is 1 at a threshold and more beyond it; share is how much of the threshold is reached.
	consider := func(ratio, share, width float64) {
		missed = 1 - float64((1-missed)*(1-ramp(ratio-1, width)))
		near *= min(1, share)
	}
	latency := w.latency / w.successes
	consider(latency/p.qos.Latency, p.qos.Latency/latency, c.Smooth)
	if s := w.successes / (w.successes + w.failed); p.qos.Success > 0 && p.qos.Success < 1 {
		// Failures are few: their number varies more than the latency does.
		consider((1-s)/(1-p.qos.Success), s/p.qos.Success, 3*c.Smooth)
	}
	if p.closed && p.qos.Count > 0 {
		count := float64(p.qos.Count)
		consider(count/w.successes, w.successes/count, c.Smooth)
	}
	near *= near
	return missed * (1 - float64(c.Credit*near*near))
}

// ramp rises from 0 to 1 between -width and width; without a width it is a step behind 0.
func ramp(x, width float64) float64 {
	if width == 0 {
		if x > rounding {
			return 1
		}
		return 0
	}
	return min(max(0.5+x/(2*width), 0), 1)
}

// rounding is less than any difference that a request makes, and more than rounding errors.
const rounding = 1e-9
