// Package stepconf is the suite of StepConf (joint optimisation of parallelism and resource configuration for serverless
// function steps): the laws of a step's time and how well they are fitted (Figs. 3 to 7, 16, 17), how its algorithm and
// its rivals keep limits and what that costs (Figs. 18 to 21), what deciding and mapping take (Figs. 22, 23), and the
// cost of every decider at equal misses, which the paper does not have.
//
// StepConf published neither code nor data. Its workflows' laws are this project's: their seconds and USD are not the
// paper's.
package stepconf

import (
	"context"
	"fmt"

	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/suite"
)

const paper = "StepConf: joint optimization of parallelism and resource configuration for serverless function steps"

// Suite returns the suite stepconf. Its workload seeds draw requests, measurements and generated workflows.
func Suite() suite.Suite {
	return suite.Suite{
		Name:  "stepconf",
		Doc:   "laws of steps and their fits (Figs. 3-7, 16, 17), limits kept and their cost (18-21), deciding and mapping (22, 23)",
		Paper: paper, Seeds: 20, QuickSeeds: 3, Run: run,
	}
}

// size says how much is played.
type size struct {
	runs     int // of a step, for each seed
	requests int // of a workflow under a limit, for each seed
	worlds   []world
	planned  []string // workflows that are planned offline
	drawn    uint64   // further ones, for each seed
}

// evidence is what the claims are measured from.
type evidence struct {
	r       *suite.Report
	laws    *laws
	fits    *fits
	data    *data // nil without --data
	mapped  *mapped
	whole   *estimated
	sweep   *sweep
	planned *planned
	warmed  *warmed
}

func run(ctx context.Context, o suite.Options, r *suite.Report) error {
	return play(ctx, &o, r, size{runs: 20, requests: 20, worlds: worlds, planned: workflows, drawn: 10})
}

func play(ctx context.Context, o *suite.Options, r *suite.Report, s size) error {
	e := &evidence{r: r}
	err := suite.InTurn(ctx, o, r,
		suite.Stage(&e.data, measuredFunctions), // first, so that a file that is missing is known before anything is played
		suite.Stage(&e.mapped, s.mapping, (*mapped).report),
		suite.Stage(&e.laws, measureLaws, (*laws).report),
		suite.Stage(&e.fits, fitLaws, (*fits).report, func(_ *fits, r *suite.Report) { e.data.report(r) }),
		suite.Stage(&e.whole, estimateSteps, (*estimated).report),
		suite.Stage(&e.sweep, s.play, (*sweep).reportLimits, (*sweep).reportGains, (*sweep).reportParallelism,
			(*sweep).reportBreakdown),
		suite.Stage(&e.planned, s.planOffline, (*planned).report),
		suite.Stage(&e.warmed, s.prewarming, (*warmed).report),
	)
	if err != nil {
		return err
	}
	r.Table(e.sweep.table(r))
	r.Note("StepConf published neither code nor data: laws, data and most edges of its workflows are this project's, so that seconds " +
		"and USD are not the paper's")
	r.Note("the paper does not say how many instances Vanilla, Orion, COSE and StepConf-Intra have: 16, 8 and 4 are shown")
	r.Note("costs of all deciders at equal misses: stoker suite misses")
	suite.Judge(r, e, claims)
	return nil
}

// claims are the paper's statements.
var claims = []suite.Statement[*evidence]{
	suite.Says("the mapping delay is small below 30 instances and rises rapidly above 40 (Fig. 3)",
		suite.Over(2), kneeFound).Led("60 instances over 30: "),
	suite.Says("ever more instances do not speed a step up further (Fig. 4)",
		suite.Over(0.95), stallFound).Led("time with 60 instances over that with 40: "),
	{
		Claim: "code of one core is not faster beyond 1,769 MB unless it runs in several processes (Figs. 5, 6)",
		Parts: []suite.Part[*evidence]{{Rule: suite.Near(1, 0.02), Measure: flatFound},
			{Rule: suite.Under(0.25), Measure: fallsFound}},
	},
	suite.Says("the fastest and the slowest transfers differ several times (Fig. 7)",
		suite.Over(2), tailFound).Led("P99 over P1: "),
	suite.Says("predicted times err mostly by less than 4 %, at most by 8 % (Figs. 16, 17)", nil, errorsFound),
	suite.Says("under four limits requests mostly end in time, and vary less than with the baselines (Fig. 18)",
		suite.Under(50), inTimeFound),
	suite.Says("up to 5.6 times as fast as Vanilla at its cost and up to 40 % cheaper at its time (Fig. 19)",
		nil, vanillaFound),
	suite.Says("beside the other rivals 1.91 to 3.3 times as fast, and 5 to 22.3 % cheaper (Fig. 19)",
		nil, othersFound),
	suite.Says("with one kind of parallelism alone requests cost more (Fig. 20)", nil, aloneFound),
	suite.Says("offline, StepConf's plans cost less than 5 % more than the optimum (Fig. 21)",
		suite.Under(5), optimumFound),
	suite.Says("decisions take at most 1 % of the workflow's time (Fig. 22)",
		suite.Under(1), decisionsFound).Led("at 100 µs each: "),
	suite.Says("prewarming makes mapping's share of the time much smaller (Fig. 23)",
		suite.Over(20), prewarmFound).Led("smaller by "),
}

func kneeFound(e *evidence, rule suite.Rule) (out []suite.Finding) {
	for _, c := range delays {
		x, limit := estimate(e.r, e.mapped.knee(c.limit, c.duration)), limits[c.limit].name
		text := fmt.Sprintf("%s times with %s, %g s each", x, limit, durations[c.duration])
		if c.limit == 1 {
			text = fmt.Sprintf("%s times with %s", x, limit)
		}
		out = append(out, suite.Finding{Text: text, Verdict: rule(x), Reading: limit})
	}
	return out
}

func stallFound(e *evidence, rule suite.Rule) (out []suite.Finding) {
	for k, mb := range fig4Sizes {
		x := estimate(e.r, report.Ratio(e.mapped.fig4.At(k, at(60)), e.mapped.fig4.At(k, at(40))))
		out = append(out, suite.Found(rule(x), "%s with %d MB", x, mb))
	}
	return out
}

func flatFound(e *evidence, rule suite.Rule) []suite.Finding {
	x := estimate(e.r, largest(e.laws.fig5, 0))
	return []suite.Finding{suite.Found(rule(x), "one process takes %s times as long with 10,240 MB as with 1,769", x)}
}

func fallsFound(e *evidence, rule suite.Rule) []suite.Finding {
	x := estimate(e.r, largest(e.laws.fig5, 3))
	return []suite.Finding{suite.Found(rule(x), ", six processes %s times", x)}
}

func tailFound(e *evidence, rule suite.Rule) (out []suite.Finding) {
	for _, i := range tails {
		t, x := moves[i], e.whole.tail(i)
		out = append(out, suite.Found(rule(report.Estimate{At: x, Low: x, High: x}), "%.1f for %d × %g MB", x, t.Objects, t.MB))
	}
	return out
}

func errorsFound(e *evidence, _ suite.Rule) (out []suite.Finding) {
	add := func(name, reading string, errors *report.Cube[float64]) {
		share, most := below(errors)
		s, m := estimate(e.r, share), estimate(e.r, most)
		out = append(out, suite.Found(suite.All(suite.Over(50)(s), suite.Under(allError)(m)),
			"%s: %s %% of the cells below 4 %%, the largest %s %%", name, s, m).As(reading))
	}
	for k, reading := range readings {
		add("computation, "+reading.name, reading.name, e.fits.error.Select(k))
	}
	for k, way := range whole {
		add("whole steps, "+way.name, way.name, e.whole.error.Select(k))
	}
	if e.data == nil {
		return out
	}
	for f, name := range e.data.names {
		add("computation on AWS, "+name, "measured on AWS", e.data.error[f])
	}
	return out
}

func inTimeFound(e *evidence, rule suite.Rule) (out []suite.Finding) {
	w := e.sweep
	d, vanilla := find(w.deciders, "StepConf"), find(w.deciders, named("Vanilla", fixed[0]))
	for k, x := range w.worlds {
		late, wider := 0, 0
		verdict := suite.Holds
		for _, factor := range four {
			f := place(factor)
			v := rule(w.estimate(e.r, k, d, f, missed))
			verdict = suite.All(verdict, v)
			if v != suite.Holds {
				late++
			}
			if w.estimate(e.r, k, d, f, spreadOf).At > w.estimate(e.r, k, vanilla, f, spreadOf).At {
				wider++
			}
		}
		out = append(out, suite.Found(verdict,
			"%s: more than half late under %d of 4 limits, varies more than Vanilla under %d", w.worlds[k].String(), late, wider).As(x.platform))
	}
	return out
}

func vanillaFound(e *evidence, _ suite.Rule) (out []suite.Finding) {
	for _, platform := range platforms {
		for _, p := range fixed {
			f, c := e.sweep.gainOver(named("Vanilla", p), platform)
			faster, cheaper := estimate(e.r, f), estimate(e.r, c)
			out = append(out, suite.Found(suite.All(suite.Reaches(upToFaster)(faster), suite.Reaches(upToCheaper)(cheaper)),
				"%s, p = %d: %s times, %s %%", platform, p, faster, cheaper).As(fmt.Sprint(platform, p)))
		}
	}
	return out
}

func othersFound(e *evidence, _ suite.Rule) (out []suite.Finding) {
	for _, platform := range platforms {
		for _, rival := range []string{"Orion", "COSE"} {
			f, c := e.sweep.gainOver(named(rival, fixed[0]), platform)
			faster, cheaper := estimate(e.r, f), estimate(e.r, c)
			out = append(out, suite.Found(suite.All(suite.Over(othersFasterLow)(faster),
				suite.Over(othersCheaperLow)(cheaper)), "%s, %s: %s times, %s %%", platform, named(rival, fixed[0]), faster, cheaper).
				As(platform+rival))
		}
	}
	return out
}

// aloneFound counts the workflows and limits under which one kind of parallelism alone is cheaper with no more misses.
func aloneFound(e *evidence, _ suite.Rule) (out []suite.Finding) {
	w := e.sweep
	base := find(w.deciders, "StepConf")
	for _, platform := range platforms {
		for _, name := range alone()[1:] {
			d, better, all := find(w.deciders, name), 0, 0
			for k, x := range w.worlds {
				if x.platform != platform {
					continue
				}
				for _, factor := range four {
					f := place(factor)
					all++
					if w.estimate(e.r, k, d, f, missed).At <= w.estimate(e.r, k, base, f, missed).At &&
						suite.Under(1)(estimate(e.r, w.over(k, d, f))) == suite.Holds {
						better++
					}
				}
			}
			out = append(out, suite.Found(suite.If(better == 0),
				"%s, %s: cheaper than StepConf with no more misses under %d of %d limits", platform, name, better, all).As(platform+name))
		}
	}
	return out
}

func optimumFound(e *evidence, rule suite.Rule) (out []suite.Finding) {
	for k, name := range e.planned.workflows {
		x := estimate(e.r, e.planned.mean(k, 0))
		out = append(out, suite.Found(rule(x), "%s %s %%", name, x))
	}
	return out
}

func decisionsFound(e *evidence, rule suite.Rule) (out []suite.Finding) {
	w := e.sweep
	var most report.Estimate
	for k := range w.worlds {
		for f := range factors {
			x := w.estimate(e.r, k, find(w.deciders, "StepConf"), f, decisionShare)
			if x.High > most.High {
				most = x
			}
		}
	}
	return []suite.Finding{suite.Found(rule(most), "at most %s %% of the time", most)}
}

func prewarmFound(e *evidence, rule suite.Rule) (out []suite.Finding) {
	for k, name := range e.warmed.worlds {
		fall, dearer := e.warmed.fall(k, 1)
		x, y := estimate(e.r, fall), estimate(e.r, dearer)
		out = append(out, suite.Found(rule(x), "%s %% on %s (%s %% dearer)", x, name, y).As(name.platform))
	}
	return out
}
