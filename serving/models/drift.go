package models

import (
	"strings"
	"sync"
	"time"

	"github.com/stoker-rl/stoker/policy"
)

// driftWindow is the least time that a share covers; it covers at most twice as much where it is asked for often.
const driftWindow = 5 * time.Minute

// drift tells how often features lay lately outside the range in which 99.8 % of them lay in the evaluation. A share
// far above 0.002 says that the platform is not the one for which the policy was evaluated.
type drift struct {
	mu           sync.Mutex
	older, newer []policy.Drift // counts at the ends of the windows before
	turned       time.Time
}

// Drift calls f with each feature's share of rows of the last 5 to 10 minutes in which it lay outside; features of
// which none was seen are left out.
func (v *Version) Drift(now time.Time, f func(feature string, share float64)) {
	d := &v.drift
	d.mu.Lock()
	defer d.mu.Unlock()
	counts := v.Policy.Drift()
	if d.turned.IsZero() {
		d.turned = now
	}
	if now.Sub(d.turned) >= driftWindow {
		d.older, d.newer, d.turned = d.newer, counts, now
	}
	for i, c := range counts {
		if d.older != nil {
			c.Outside -= d.older[i].Outside
			c.Rows -= d.older[i].Rows
		}
		if c.Rows > 0 {
			f(feature(v, c), float64(c.Outside)/float64(c.Rows))
		}
	}
}

// feature is a name that no other feature of the policy has.
func feature(v *Version, c policy.Drift) string {
	parts := []string{c.Part, c.Name}
	if len(v.Spec().Kinds) > 1 {
		parts = append([]string{c.Kind}, parts...)
	}
	return strings.TrimPrefix(strings.Join(parts, "."), ".")
}
