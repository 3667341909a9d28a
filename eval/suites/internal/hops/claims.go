package hops

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/lists"
)

// How near a value must come to count as the paper's "about". These are ours, chosen before anything was played.
const (
	nearPrice    = 0.05
	nearShare    = 2.0 // points
	nearBaseline = 2.0 // vGPUs
	settled      = 20  // the window after which the paper's prices stand still
)

// evidence is what claims are measured from: the paper's figures in each world, and the control of prices.
type evidence struct {
	mains   []*match
	control *control
}

// part is one thing that a claim says.
type part = suite.Part[*evidence]

// remark is a fixed text between the findings.
func remark(text string) part {
	return part{Measure: func(*evidence, suite.Rule) []suite.Finding { return []suite.Finding{{Text: text}} }}
}

// claims are the paper's: what it says, what is measured, and the rule with the paper's number. The rules do not know
// the answers.
var claims = []suite.Statement[*evidence]{
	{Claim: "HOPS earns 45 to 55 % more than the best rival", Parts: []part{
		{Measure: moreProfit},
		{Rule: suite.Meets(45, 55), Minor: true, Measure: leads, Lead: "with the rivals at 1.0: ", Sep: ", "},
		{
			Minor: true, Measure: behindAtOtherPrices,
			Lead: ". With the rivals at 1.1/1.3/1.5, 1.3/1.5/1.7 or HOPS' own final prices it earns less in ",
		},
	}},
	{Claim: "the gain stems from adapting prices and baselines to the workload", Parts: []part{
		{Measure: atFinalPrices, Lead: "who holds HOPS' final prices from the start earns more than HOPS: "},
		{
			Measure: higherPrices, Lead: ". Adding 0.2 to every price adds ",
		},
		remark(" and changes no share: as eq. 1 is printed, profit has no bound in price"),
	}},
	{Claim: "scheduling has its part in the gain", Parts: []part{
		{Measure: belowPBA, Lead: "with PBA above each scheduler HOPS earns more than the others by: "},
		{Measure: atEqualPrices, Lead: ". With all at " + priceText(equal[0]) + " " + tunedName + " earns more by: ",
			Sep: ", "},
	}},
	suite.Says("HAS-GPU is the best rival, and has the most violations, over 19 %", nil, bestRival),
	{Claim: "HOPS has the fewest violations, up to 30 % fewer", Parts: []part{
		{Measure: fewestViolations, Lead: "with the rivals at 1.0, "},
		{
			Minor: true, Measure: fewestAtEqualPrices, Sep: ", ",
			Lead: ". With the rivals at " + priceText(equal[0]) + ": against ", // a price draws users from tier to tier
		},
	}},
	{Claim: "prices stand still after about 20 windows, near 1.1, 1.3 and 1.5", Parts: []part{
		{Rule: suite.Near(0, nearPrice), Measure: ends("price", 1, paperPrices, "%.2f"), Lead: "at the end "},
		remark(fmt.Sprintf(" (asked: within %g)", nearPrice)),
		{Rule: suite.Near(0, nearPrice), Measure: priceMoves, Lead: "; "},
	}},
	{Claim: "tiers' shares end near 21, 35 and 44 %", Parts: []part{
		{Rule: suite.Near(0, nearShare), Measure: ends("share", 100, paperShares, "%.1f"), Lead: "at the end "},
		remark(fmt.Sprintf(" (asked: within %g). At the paper's own prices they are 21.0, 35.0 and 44.0 by construction: "+
			"eq. 1's constants were solved for that", nearShare)),
	}},
	{Claim: "keep-alive vGPUs rise to 8, 15 and 20", Parts: []part{
		{Rule: suite.Near(0, nearBaseline), Measure: ends("baseline", 1, paperBaselines, "%.1f"), Lead: "at the end "},
		remark(fmt.Sprintf(" (asked: within %g)", nearBaseline)),
	}},
	{Claim: "switching is an order of magnitude below MQFQ-Sticky's and under 4 % of HAS-GPU's", Parts: []part{
		{Rule: suite.Meets(0, 0.1), Measure: switches(mqfqName)},
		{Rule: suite.Meets(0, 0.04), Measure: switches(hasName)},
		{Measure: switchTexts, Lead: "HOPS' switches over MQFQ-Sticky's and HAS-GPU's, "},
	}},
	{Claim: "HOPS keeps 70 to 72 % of vGPUs in service, as many as the rivals or slightly more", Parts: []part{
		{Rule: suite.Meets(math.Inf(-1), 1), Measure: usedLess}, // points
		{Rule: suite.Meets(70, 72), Minor: true, Measure: used}, // how much arrives decides
	}},
}

// better are the findings that HOPS is better than those of m's policies that are published, by a quantity; first is
// the place of the first policy that it was compared with.
func better(m *match, quantity string, first int, text func(i int, c *suite.Comparison) string) (out []suite.Finding) {
	for i := range m.verdicts[quantity] {
		c := &m.verdicts[quantity][i]
		if m.published(i + first) {
			out = append(out, suite.Finding{Text: text(i+first, c), Verdict: suite.Of(c.Verdict)})
		}
	}
	return out
}

func untold(int, *suite.Comparison) string { return "" }

func moreProfit(e *evidence, _ suite.Rule) (out []suite.Finding) {
	for _, m := range e.mains {
		out = append(out, better(m, "profit", 1, untold)...)
	}
	return out
}

func leads(e *evidence, rule suite.Rule) (out []suite.Finding) {
	for _, m := range e.mains {
		lead, best := m.lead()
		x := m.r.Estimate(lead)
		out = append(out, suite.Found(rule(x), "%s %% over %s on %s", x, best, m.world.name))
	}
	return out
}

// behindAtOtherPrices counts where the rivals at other static prices earn more.
func behindAtOtherPrices(e *evidence, _ suite.Rule) []suite.Finding {
	behind := 0
	for _, g := range e.control.paper[1:] {
		for i, v := range g.verdicts["profit"] {
			if v.Verdict == eval.Worse && g.policies[i].pba == nil && g.published(i) {
				behind++
			}
		}
	}
	static := len(rivals(nil)) * (len(e.control.paper) - 2) // all but the first regime and PBA's
	return []suite.Finding{suite.Found(suite.If(behind == 0), "%d of %d comparisons", behind, static)}
}

// atFinalPrices compares HOPS with the rivals that charge its final prices from the start.
func atFinalPrices(e *evidence, _ suite.Rule) []suite.Finding {
	g := e.control.paper[len(e.control.paper)-2]
	by := map[string][]string{}
	out := better(g.match, "profit", 0, func(i int, c *suite.Comparison) string {
		text := fmt.Sprintf("%s by %s", g.policies[i].name, thousands(math.Abs(float64(c.Difference))))
		by[c.Verdict] = append(by[c.Verdict], text)
		return ""
	})
	return append(out, suite.Finding{Text: report.List(by[eval.Worse], "nobody") + "; less: " + report.List(by[eval.Better], "nobody")})
}

// higherPrices is what the second static regime, 0.2 more in every price, brings the tuned SPSS beyond the first.
func higherPrices(e *evidence, _ suite.Rule) []suite.Finding {
	a, b := e.control.paper[1], e.control.paper[2]
	x, y := a.scores(a.of(tunedName), "profit", 1), b.scores(b.of(tunedName), "profit", 1)
	gain := lists.Make(len(x[0]), func(j int) float64 { return y[0][j] - x[0][j] })
	return []suite.Finding{{Text: fmt.Sprintf("%s to %s", a.r.Estimate(stats.Scores{gain}), tunedName)}}
}

// belowPBA compares HOPS with the other schedulers that have a PBA of their own above them, in both profiles.
func belowPBA(e *evidence, _ suite.Rule) (out []suite.Finding) {
	for k, list := range [][]*regime{e.control.paper, e.control.outside} {
		g := list[len(list)-1]
		var parts []string
		for i, v := range g.verdicts["profit"] {
			parts = append(parts, fmt.Sprintf("%s %s", g.policies[i].name, thousands(float64(v.Difference))))
			out = append(out, suite.Finding{Verdict: suite.Of(v.Verdict)})
		}
		out = append(out, suite.Finding{Text: fmt.Sprintf("where users %s %s", users(k), strings.Join(parts, ", "))})
	}
	return out
}

func atEqualPrices(e *evidence, _ suite.Rule) (out []suite.Finding) {
	for _, v := range e.control.schedulers[0] {
		if slices.Contains([]string{torporName, hasName, mqfqName}, v.B) {
			text := fmt.Sprintf("%s %s", v.B, thousands(float64(v.Difference)))
			out = append(out, suite.Finding{Text: text, Verdict: suite.Of(v.Verdict)})
		}
	}
	return out
}

func bestRival(e *evidence, _ suite.Rule) (out []suite.Finding) {
	for _, m := range e.mains {
		_, best := m.lead()
		rates := m.values("violation_rate", 100)
		worst := 1
		for i := range rates {
			if i > 0 && m.published(i) && rates[i] > rates[worst] {
				worst = i
			}
		}
		has := m.of(hasName)
		out = append(out, suite.Found(suite.If(best == hasName && worst == has), "%s: %s earns most, %s violates most (%.1f %%), "+
			"HAS-GPU %.1f %%", m.world.name, best, m.policies[worst].name, rates[worst], rates[has]))
	}
	return out
}

// fewer words how many violations HOPS has beside each of m's policies.
func fewer(m *match, own float64) func(i int, c *suite.Comparison) string {
	rates := m.values("violation_rate", 100)
	return func(i int, c *suite.Comparison) string {
		x, word := 100*(1-own/rates[i]), "fewer"
		if x < 0 {
			x, word = -x, "more"
		}
		return fmt.Sprintf("%s %.0f %% %s (%s)", m.policies[i].name, x, word, c.Verdict)
	}
}

func fewestViolations(e *evidence, _ suite.Rule) (out []suite.Finding) {
	for _, m := range e.mains {
		of := better(m, "violation_rate", 1, fewer(m, m.values("violation_rate", 100)[0]))
		var texts []string
		for i := range of {
			texts = append(texts, of[i].Text)
			of[i].Text = ""
		}
		out = append(out, of...)
		out = append(out, suite.Finding{Text: fmt.Sprintf("on %s against %s", m.world.name, strings.Join(texts, ", "))})
	}
	return out
}

func fewestAtEqualPrices(e *evidence, _ suite.Rule) []suite.Finding {
	g := e.control.paper[1]
	return better(g.match, "violation_rate", 0, fewer(g.match, g.own.values("violation_rate", 100)[0]))
}

// ends measures how far HOPS' final values are from the paper's, in all tiers.
func ends(quantity string, factor float64, paper []float64, format string) func(*evidence, suite.Rule) []suite.Finding {
	return func(e *evidence, rule suite.Rule) (out []suite.Finding) {
		for _, m := range e.mains {
			var values []string
			word := suite.Holds
			for tier, want := range paper {
				x := stats.IQM(m.final(0, fmt.Sprintf("%s_%d", quantity, tier+1), factor).Flat())
				word = suite.All(word, rule(report.Point(x-want)))
				values = append(values, fmt.Sprintf(format, x))
			}
			out = append(out, suite.Finding{Text: strings.Join(values, ", ") + " on " + m.world.name, Verdict: word})
		}
		return out
	}
}

// priceMoves measures how far prices move after they should have settled.
func priceMoves(e *evidence, rule suite.Rule) (out []suite.Finding) {
	for _, m := range e.mains {
		most := 0.0
		for tier := range paperPrices {
			var moved []float64
			for _, s := range m.series(0, fmt.Sprintf("price_%d", tier+1), 1) {
				moved = append(moved, math.Abs(s[len(s)-1]-s[min(settled, len(s))-1]))
			}
			most = max(most, stats.IQM(moved))
		}
		out = append(out, suite.Found(rule(report.Point(most)), "from window %d to the end a tier's price moves by up to %.2f on %s",
			settled, most, m.world.name))
	}
	return out
}

// counts are the two ways to count switches.
var counts = []struct{ quantity, reading string }{
	{"switches", "as charged"}, {"redeployments", "all changes counted alike"},
}

// switches measures HOPS' switches over a rival's, in both readings.
func switches(rival string) func(*evidence, suite.Rule) []suite.Finding {
	return func(e *evidence, rule suite.Rule) (out []suite.Finding) {
		for _, m := range e.mains {
			for _, c := range counts {
				x := m.values(c.quantity, 1)
				out = append(out, suite.Finding{Verdict: rule(report.Point(x[0] / x[m.of(rival)])), Reading: c.reading})
			}
		}
		return out
	}
}

func switchTexts(e *evidence, _ suite.Rule) (out []suite.Finding) {
	for _, m := range e.mains {
		var parts []string
		for _, c := range counts {
			x := m.values(c.quantity, 1)
			parts = append(parts, fmt.Sprintf("%s %.0f and %.0f %%", c.reading, 100*x[0]/x[m.of(mqfqName)],
				100*x[0]/x[m.of(hasName)]))
		}
		out = append(out, suite.Finding{Text: m.world.name + ": " + strings.Join(parts, ", ")})
	}
	return out
}

// usedLess measures by how many points the rival with most vGPUs in service is ahead of HOPS.
func usedLess(e *evidence, rule suite.Rule) (out []suite.Finding) {
	for _, m := range e.mains {
		lead := slices.Max(m.rivalsUse()) - m.estimate(0, "utilisation", 100).At
		out = append(out, suite.Finding{Verdict: rule(report.Point(lead))})
	}
	return out
}

func used(e *evidence, rule suite.Rule) (out []suite.Finding) {
	for _, m := range e.mains {
		x, others := m.estimate(0, "utilisation", 100), m.rivalsUse()
		out = append(out, suite.Found(rule(x), "%s %%, rivals %.1f to %.1f %% on %s", x, slices.Min(others), slices.Max(others),
			m.world.name))
	}
	return out
}

// rivalsUse are the shares of vGPUs in service, in %, under the paper's rivals.
func (m *match) rivalsUse() []float64 { return m.values("utilisation", 100)[1 : 1+len(rivals(nil))] }

// thousands writes money to a thousand.
func thousands(x float64) string { return fmt.Sprintf("%.0f,000", x/1000) }

func users(k int) string { return []string{"all buy", "may stay away"}[k] }
