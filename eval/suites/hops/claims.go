package hops

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
)

// How near a value must come to count as the paper's "about". These are ours, chosen before anything was played.
const (
	nearPrice    = 0.05
	nearShare    = 2.0 // points
	nearBaseline = 2.0 // vGPUs
	settled      = 20  // the window after which the paper's prices stand still
)

// claims says what became of the paper's statements, by rules that do not know the answers.
func claims(r *suite.Report, mains []*match, c *control) error {
	for _, claim := range []func(*suite.Report, []*match, *control) (suite.Claim, error){
		claimProfit, claimCause, claimSchedule, claimBest, claimViolations, claimPrices, claimShares, claimBaselines, claimSwitches, claimUse,
	} {
		out, err := claim(r, mains, c)
		if err != nil {
			return err
		}
		r.Claim(out)
	}
	return nil
}

func claimProfit(r *suite.Report, mains []*match, c *control) (suite.Claim, error) {
	out := suite.Claim{Claim: "HOPS earns 45 to 55 % more than the best rival", Verdict: suite.Depends}
	var found []string
	ahead, inside := suite.Holds, true
	for _, m := range mains {
		for i, v := range m.verdicts["profit"] {
			if m.published(i + 1) {
				ahead = and(ahead, v.Verdict)
			}
		}
		lead, best, err := m.lead()
		if err != nil {
			return out, err
		}
		e := r.Estimate(lead)
		inside = inside && e.Lo <= 55 && e.Hi >= 45
		found = append(found, fmt.Sprintf("%s %% over %s on %s", e, best, m.world.name))
	}
	behind := 0
	for _, g := range c.paper[1:] {
		for i, v := range g.verdicts["profit"] {
			if v.Verdict == eval.Worse && g.policies[i].pba == nil && g.published(i) {
				behind++
			}
		}
	}
	switch {
	case ahead != suite.Holds:
		out.Verdict = ahead
	case behind == 0 && inside:
		out.Verdict = suite.Holds
	}
	static := len(rivals(nil)) * (len(c.paper) - 2) // all but the first regime and PBA's
	out.Found = fmt.Sprintf("with the rivals at 1.0: %s. With the rivals at 1.1/1.3/1.5, 1.3/1.5/1.7 or HOPS' own final prices it earns less in %d of %d comparisons", strings.Join(found, ", "), behind, static)
	return out, nil
}

func claimCause(r *suite.Report, _ []*match, c *control) (suite.Claim, error) {
	out := suite.Claim{Claim: "the gain stems from adapting prices and baselines to the workload", Verdict: suite.Holds}
	g := c.paper[len(c.paper)-2]
	var more, less []string
	for i, v := range g.verdicts["profit"] {
		if !g.published(i) {
			continue
		}
		text := fmt.Sprintf("%s by %s", g.policies[i].name, rounded(-float64(v.Difference)))
		switch v.Verdict {
		case eval.Worse:
			more = append(more, text)
		case eval.Better:
			less = append(less, fmt.Sprintf("%s by %s", g.policies[i].name, rounded(float64(v.Difference))))
		}
		out.Verdict = and(out.Verdict, v.Verdict)
	}
	// Two static regimes that differ by 0.2 in every price.
	step, err := gain(c.paper[1], c.paper[2])
	if err != nil {
		return out, err
	}
	e := r.Estimate(step)
	out.Found = fmt.Sprintf("who holds HOPS' final prices from the start earns more than HOPS: %s; less: %s. Adding 0.2 to every price adds %s to %s and changes no share: as eq. 1 is printed, profit has no bound in price",
		orNobody(more), orNobody(less), e, tunedName)
	return out, nil
}

// gain is what the second regime brings the tuned SPSS beyond the first.
func gain(a, b *regime) (stats.Scores, error) {
	x, err := a.scores(a.of(tunedName), "profit", 1)
	if err != nil {
		return nil, err
	}
	y, err := b.scores(b.of(tunedName), "profit", 1)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(x[0]))
	for j := range out {
		out[j] = y[0][j] - x[0][j]
	}
	return stats.Scores{out}, nil
}

func claimSchedule(_ *suite.Report, _ []*match, c *control) (suite.Claim, error) {
	out := suite.Claim{Claim: "scheduling has its part in the gain", Verdict: suite.Holds}
	var found []string
	for k, list := range [][]*regime{c.paper, c.outside} {
		g := list[len(list)-1]
		var parts []string
		for i, v := range g.verdicts["profit"] {
			parts = append(parts, fmt.Sprintf("%s %s", g.policies[i].name, rounded(float64(v.Difference))))
			out.Verdict = and(out.Verdict, v.Verdict)
		}
		found = append(found, fmt.Sprintf("where users %s %s", users(k), strings.Join(parts, ", ")))
	}
	var equals []string
	for _, v := range c.schedulers[0] {
		if slices.Contains([]string{torporName, hasName, mqfqName}, v.B) {
			equals = append(equals, fmt.Sprintf("%s %s", v.B, rounded(float64(v.Difference))))
			out.Verdict = and(out.Verdict, v.Verdict)
		}
	}
	out.Found = fmt.Sprintf("with PBA above each scheduler HOPS earns more than the others by: %s. With all at %s %s earns more by: %s",
		strings.Join(found, "; "), priceText(equal[0]), tunedName, strings.Join(equals, ", "))
	return out, nil
}

func claimBest(_ *suite.Report, mains []*match, _ *control) (suite.Claim, error) {
	out := suite.Claim{Claim: "HAS-GPU is the best rival, and has the most violations, over 19 %", Verdict: suite.Holds}
	var found []string
	for _, m := range mains {
		_, best, err := m.lead()
		if err != nil {
			return out, err
		}
		rates, err := m.values("violation_rate", 100)
		if err != nil {
			return out, err
		}
		worst := 1
		for i := range rates {
			if i > 0 && m.published(i) && rates[i] > rates[worst] {
				worst = i
			}
		}
		has := m.of(hasName)
		if best != hasName || worst != has {
			out.Verdict = suite.Fails
		}
		found = append(found, fmt.Sprintf("%s: %s earns most, %s violates most (%.1f %%), HAS-GPU %.1f %%", m.world.name, best, m.policies[worst].name, rates[worst], rates[has]))
	}
	out.Found = strings.Join(found, "; ")
	return out, nil
}

func claimViolations(_ *suite.Report, mains []*match, c *control) (suite.Claim, error) {
	out := suite.Claim{Claim: "HOPS has the fewest violations, up to 30 % fewer", Verdict: suite.Holds}
	var found []string
	for _, m := range mains {
		var parts []string
		rates, err := m.values("violation_rate", 100)
		if err != nil {
			return out, err
		}
		for i, v := range m.verdicts["violation_rate"] {
			if !m.published(i + 1) {
				continue
			}
			out.Verdict = and(out.Verdict, v.Verdict)
			parts = append(parts, fmt.Sprintf("%s %s (%s)", m.policies[i+1].name, fewer(rates[0], rates[i+1]), v.Verdict))
		}
		found = append(found, fmt.Sprintf("on %s against %s", m.world.name, strings.Join(parts, ", ")))
	}
	// A price draws users from tier to tier, and the tightest one is violated most.
	g := c.paper[1]
	own, err := g.own.values("violation_rate", 100)
	if err != nil {
		return out, err
	}
	rates, err := g.values("violation_rate", 100)
	if err != nil {
		return out, err
	}
	var parts []string
	fewest := suite.Holds
	for i, v := range g.verdicts["violation_rate"] {
		if !g.published(i) {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %s (%s)", g.policies[i].name, fewer(own[0], rates[i]), v.Verdict))
		fewest = and(fewest, v.Verdict)
	}
	if out.Verdict == suite.Holds && fewest != suite.Holds {
		out.Verdict = suite.Depends
	}
	out.Found = fmt.Sprintf("with the rivals at 1.0, %s. With the rivals at %s: against %s", strings.Join(found, "; "), priceText(equal[0]), strings.Join(parts, ", "))
	return out, nil
}

func claimPrices(_ *suite.Report, mains []*match, _ *control) (suite.Claim, error) {
	out, err := near(mains, "price", 1, paperPrices, nearPrice, "%.2f")
	out.Claim = "prices stand still after about 20 windows, near 1.1, 1.3 and 1.5"
	if err != nil {
		return out, err
	}
	for _, m := range mains {
		most := 0.0
		for tier := range paperPrices {
			series, err := m.series(0, fmt.Sprintf("price_%d", tier+1), 1)
			if err != nil {
				return out, err
			}
			var moved []float64
			for _, s := range series {
				moved = append(moved, math.Abs(s[len(s)-1]-s[min(settled, len(s))-1]))
			}
			most = max(most, stats.IQM(moved))
		}
		if most > nearPrice {
			out.Verdict = suite.Fails
		}
		out.Found += fmt.Sprintf("; from window %d to the end a tier's price moves by up to %.2f on %s", settled, most, m.world.name)
	}
	return out, nil
}

func claimShares(_ *suite.Report, mains []*match, _ *control) (suite.Claim, error) {
	out, err := near(mains, "share", 100, paperShares, nearShare, "%.1f")
	out.Claim = "tiers' shares end near 21, 35 and 44 %"
	out.Found += ". At the paper's own prices they are 21.0, 35.0 and 44.0 by construction: eq. 1's constants were solved for that"
	return out, err
}

func claimBaselines(_ *suite.Report, mains []*match, _ *control) (suite.Claim, error) {
	out, err := near(mains, "baseline", 1, paperBaselines, nearBaseline, "%.1f")
	out.Claim = "keep-alive vGPUs rise to 8, 15 and 20"
	return out, err
}

// near compares HOPS' final values with the paper's.
func near(mains []*match, quantity string, factor float64, paper []float64, within float64, format string) (suite.Claim, error) {
	out := suite.Claim{Verdict: suite.Holds}
	var found []string
	for _, m := range mains {
		var values []string
		for tier, want := range paper {
			s, err := m.final(0, fmt.Sprintf("%s_%d", quantity, tier+1), factor)
			if err != nil {
				return out, err
			}
			x := stats.IQM(s.Flat())
			if math.Abs(x-want) > within {
				out.Verdict = suite.Fails
			}
			values = append(values, fmt.Sprintf(format, x))
		}
		found = append(found, strings.Join(values, ", ")+" on "+m.world.name)
	}
	out.Found = fmt.Sprintf("at the end %s (asked: within %g)", strings.Join(found, "; "), within)
	return out, nil
}

func claimSwitches(_ *suite.Report, mains []*match, _ *control) (suite.Claim, error) {
	out := suite.Claim{Claim: "switching is an order of magnitude below MQFQ-Sticky's and under 4 % of HAS-GPU's"}
	var found []string
	counts := []string{"switches", "redeployments"}
	holds := []bool{true, true}
	for _, m := range mains {
		var parts []string
		for k, q := range counts {
			x, err := m.values(q, 1)
			if err != nil {
				return out, err
			}
			mqfq, has := x[0]/x[m.of(mqfqName)], x[0]/x[m.of(hasName)]
			holds[k] = holds[k] && mqfq <= 0.1 && has <= 0.04
			parts = append(parts, fmt.Sprintf("%s %.0f and %.0f %%", []string{"as charged", "all changes counted alike"}[k], 100*mqfq, 100*has))
		}
		found = append(found, m.world.name+": "+strings.Join(parts, ", "))
	}
	switch {
	case holds[0] && holds[1]:
		out.Verdict = suite.Holds
	case holds[0] || holds[1]:
		out.Verdict = suite.Depends
	default:
		out.Verdict = suite.Fails
	}
	out.Found = "HOPS' switches over MQFQ-Sticky's and HAS-GPU's, " + strings.Join(found, "; ")
	return out, nil
}

func claimUse(r *suite.Report, mains []*match, _ *control) (suite.Claim, error) {
	out := suite.Claim{Claim: "HOPS keeps 70 to 72 % of vGPUs in service, as many as the rivals or slightly more", Verdict: suite.Holds}
	var found []string
	for _, m := range mains {
		s, err := m.scores(0, "utilisation", 100)
		if err != nil {
			return out, err
		}
		all, err := m.values("utilisation", 100)
		if err != nil {
			return out, err
		}
		e := r.Estimate(s)
		others := all[1 : 1+len(rivals(nil))]
		switch {
		case slices.Max(others) > e.At+1:
			out.Verdict = suite.Fails
		case (e.Lo > 72 || e.Hi < 70) && out.Verdict == suite.Holds:
			out.Verdict = suite.Depends // on how much arrives
		}
		found = append(found, fmt.Sprintf("%s %%, rivals %.1f to %.1f %% on %s", e, slices.Min(others), slices.Max(others), m.world.name))
	}
	out.Found = strings.Join(found, "; ")
	return out, nil
}

// values are the policies' interquartile means of a quantity.
func (m *match) values(quantity string, factor float64) ([]float64, error) {
	var out []float64
	for i := range m.policies {
		s, err := m.scores(i, quantity, factor)
		if err != nil {
			return nil, err
		}
		out = append(out, stats.IQM(s.Flat()))
	}
	return out, nil
}

// and is what is left of a claim that has held so far when one more comparison comes in that should be better.
func and(sofar, verdict string) string {
	switch {
	case sofar == suite.Fails || verdict == eval.Worse:
		return suite.Fails
	case sofar == suite.Unknown || verdict == eval.Undecided:
		return suite.Unknown
	}
	return sofar
}

// fewer says by how much a is less than b.
func fewer(a, b float64) string {
	x := 100 * (1 - a/b)
	if x < 0 {
		return fmt.Sprintf("%.0f %% more", -x)
	}
	return fmt.Sprintf("%.0f %% fewer", x)
}

func orNobody(list []string) string {
	if len(list) == 0 {
		return "nobody"
	}
	return strings.Join(list, ", ")
}

// rounded writes money in thousands.
func rounded(x float64) string { return fmt.Sprintf("%.0f,000", x/1000) }

func users(k int) string { return []string{"all buy", "may stay away"}[k] }
