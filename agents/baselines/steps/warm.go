package steps

import "github.com/stoker-rl/stoker/envs/steps"

// Idle warm instances make a step faster, and cheaper where mapping is billed. Deciders plan without them, since they may
// be gone before a later step; for the step that is decided now they are known.

// saved is about the time in seconds that warm instances take off a step's time.
func saved(p *steps.Platform, o *steps.Option, warm int) float64 {
	if p.Formula {
		return steps.Mapping(o.Instances, 0) - steps.Mapping(o.Instances, warm)
	}
	n := o.Instances
	if p.Together > 0 {
		n = min(n, p.Together)
	}
	if warm < n {
		return float64(p.StartEvery * float64(warm))
	}
	return p.ColdStart + float64(p.StartEvery*float64(n))
}

// anyWarm reports whether a step has idle warm instances.
func anyWarm(at *steps.Moment, step int) bool {
	if step >= len(at.Warm) {
		return false
	}
	for _, n := range at.Warm[step] {
		if n > 0 {
			return true
		}
	}
	return false
}

// warmed returns the place of the cheapest option of a step that takes less than so many seconds with the warm instances
// that there are, of the fastest where there is none.
func (l menu) warmed(p *steps.Platform, at *steps.Moment, step int, seconds float64) int {
	best, fastest := -1, -1
	var least, quickest float64
	for i := range l {
		o := &l[i].option
		t, usd := l[i].seconds, o.USD
		for k, mb := range p.Memory {
			if mb == o.MB && at.Warm[step][k] > 0 {
				s := saved(p, o, at.Warm[step][k])
				t -= s
				if p.BillMapping {
					usd -= float64(float64(o.Instances*o.MB) / 1024 * p.USDPerGBSecond * s)
				}
			}
		}
		if t < seconds && (best < 0 || usd < least) {
			best, least = i, usd
		}
		if fastest < 0 || t < quickest {
			fastest, quickest = i, t
		}
	}
	if best < 0 {
		return fastest
	}
	return best
}
