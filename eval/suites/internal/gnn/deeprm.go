package gnn

import (
	"context"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/deeprm"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
)

const paper = "Zhang, Learning-based dynamic resource allocation for serverless computing with graph neural networks"

// Fig3 returns the suite of Fig. 3 and of the prose around it.
func Fig3() suite.Suite {
	return suite.Suite{
		Name: "gnn-fig3",
		Doc: "slowdown over the load on DeepRM's cluster (Fig. 3), " +
			"and slowdown, utilisation, cold starts and cost on a cluster of unlike nodes",
		Paper: paper, Seeds: 40, QuickSeeds: 10, Run: runFig3,
	}
}

func runFig3(ctx context.Context, o suite.Options, r *suite.Report) error {
	deep, err := shipped(deepRMPrefix)
	if err != nil {
		return err
	}
	gnn, err := fromZoo(gnnName)
	if err != nil {
		return err
	}
	dqn, err := fromZoo(dqnName)
	if err != nil {
		return err
	}
	d := deepRMSize{rates: []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}, per: 50, zoo: deep}
	n := nodesSize{loads: []float64{0.1, 0.3, 0.5, 0.7, 0.9, 1.1, 1.3, 1.5, 1.7, 1.9}, gnn: gnn, dqn: dqn}
	if o.Quick {
		d.per = 20
		n.loads = []float64{0.1, 0.7, 1.3, 1.9}
	}
	if err := deepRM(ctx, &o, r, d); err != nil {
		return err
	}
	return onNodes(ctx, &o, r, n)
}

// deepRMSize says how much of Fig. 3 is played.
type deepRMSize struct {
	rates []float64
	per   int // job sequences of a workload seed
	zoo   []*trained
}

// readings are Fig. 3 with start as docs/deeprm.md has it: now, the default, and earliest.
type readings [2]*sweep

var starts = [2]string{deeprm.StartNow, deeprm.StartEarliest}

// of is the reading that player i belongs to: a trained policy to that of its training, a rule to the default.
func (s *readings) of(i int) *sweep {
	if by := s[0].fields[0].players[i].by; by != nil && by.deepRM().Start == deeprm.StartEarliest {
		return s[1]
	}
	return s[0]
}

// at is player i's field at the load nearest to x, and that load.
func (s *readings) at(i int, x float64) (*field, float64) {
	w := s.of(i)
	k := w.nearest(x)
	return w.fields[k], w.loads[k]
}

// find is a player's place; learned policies where name stands for all of them.
func (s *readings) find(name string) []int {
	f := s[0].fields[0]
	if name == learnedName {
		return learned(f)
	}
	return []int{f.find(name)}
}

// deepRMSweeps plays Fig. 3 in both readings.
func deepRMSweeps(ctx context.Context, o *suite.Options, r *suite.Report, size deepRMSize) (*readings, error) {
	var (
		out readings
		all []*field
	)
	for n, start := range starts {
		s := &sweep{}
		for k, rate := range size.rates {
			c := deeprm.Default()
			c.Rate, c.Observation, c.Start = rate, deeprm.Compact, start
			f := &field{r: r, name: fmt.Sprintf("DeepRM's cluster, load %.0f %%", 100*c.Load())}
			if n > 0 {
				f.name += ", start earliest"
			}
			for _, t := range size.zoo {
				p, why := t.onDeepRM(c)
				if why == "" {
					f.players = append(f.players, p)
				}
				switch {
				case n > 0 || k > 0:
				case why == "":
					r.Note("%s was trained at rate %g alone, start %s, for %d steps, and plays at all loads; its rows are of "+
						"that start",
						t.Source, t.deepRM().Rate, t.deepRM().Start, t.Steps())
				default:
					r.Note("%s does not play on DeepRM's cluster: %s", t.Source, why)
				}
			}
			list, err := deepRMRules(c)
			if err != nil {
				return nil, err
			}
			f.players = append(f.players, list...)
			s.loads, s.fields, all = append(s.loads, 100*c.Load()), append(s.fields, f), append(all, f)
		}
		out[n] = s
	}
	return &out, play(ctx, o, "Fig. 3, DeepRM's cluster", size.per, all...)
}

func deepRM(ctx context.Context, o *suite.Options, r *suite.Report, size deepRMSize) error {
	s, err := deepRMSweeps(ctx, o, r, size)
	if err != nil {
		return err
	}
	if len(s.find(learnedName)) == 0 {
		r.Note("Fig. 3's curve of DeepRM is missing: this program's zoo has no policy of %s whose name begins with %s",
			deeprm.ID, deepRMPrefix)
	}
	r.Note("on DeepRM's cluster a workload seed stands for %d job sequences, of which the mean counts: "+
		"single ones have a heavy tail that an interquartile mean would cut", size.per)
	deepRMFigure(r, s)
	deepRMRows(r, s)
	e := &fig3Evidence{readings: s}
	slowdown := eval.Metric{Name: "slowdown", Unit: "1", Better: envs.Lower}
	for _, x := range []float64{70, 130, 190} {
		for _, a := range comparedIn(s[0].fields[0], starName) {
			f, _ := s.at(a, x)
			e.verdicts = append(e.verdicts, f.compare(a, slowdown, func(p *player) bool { return p.by == nil })...)
		}
	}
	suite.Judge(r, e, fig3Claims)
	if len(s.find(learnedName)) > 0 {
		suite.Judge(r, e, fig3Learned)
	}
	return nil
}

// learned are the places of the policies that were trained.
func learned(f *field) []int {
	var out []int
	for i := range f.players {
		if f.players[i].Kind == catalog.Learned {
			out = append(out, i)
		}
	}
	return out
}

// comparedIn are the policies whose verdicts are reported: those that were trained, or the named rule where there is
// none.
func comparedIn(f *field, rule string) []int {
	if l := learned(f); len(l) > 0 {
		return l
	}
	return []int{f.find(rule)}
}

// deepRMFigure is every mean slowdown.
func deepRMFigure(r *suite.Report, s *readings) {
	players := s[0].fields[0].players
	f := report.NewFigure("fig3-deeprm", "Fig. 3 on DeepRM's cluster: mean slowdown over the load with 95 % intervals, all and, "+
		"right, what is below 10. Rings and bars are the paper's values (of “under” and “over” the bound).",
		chart.Figure{Columns: 2, Width: half, Height: height}, "start", "load [%]", "policy", "slowdown")
	s[0].fields[0].named(f)
	f.Chart.Key = append(f.Chart.Key, chart.Entry{Text: "the paper, in the policy's colour", Style: chart.Bound(),
		Dot: true})
	wide, low := f.Panel("all", "load (%)", "mean slowdown"), f.Panel("below 10", "load (%)", "mean slowdown")
	same := true
	for n, w := range s {
		for i := range players {
			var e []report.Estimate
			for k, g := range w.fields {
				v := g.values(i, "slowdown")
				if players[i].by == nil {
					same = same && slices.Equal(v, s[0].fields[k].values(i, "slowdown"))
				}
				e = append(e, r.Estimate(stats.Scores{v}))
				f.Rows = append(f.Rows, []any{starts[n], w.loads[k], players[i].Name, e[k]})
			}
			if w != s.of(i) {
				continue
			}
			report.Line(wide, chart.Styles(i), w.loads, e)
			// The right panel ends a line where it rises above 10.
			end := slices.IndexFunc(e, func(x report.Estimate) bool { return x.High > 10 })
			if end < 0 {
				end = len(e)
			}
			report.Line(low, chart.Styles(i), w.loads[:end], e[:end])
		}
	}
	for _, v := range published {
		for _, i := range s.find(v.policy) {
			ring(wide, chart.Styles(i), v.load, v.lo, v.hi)
			if v.hi < 10 {
				ring(low, chart.Styles(i), v.load, v.lo, v.hi)
			}
		}
	}
	wide.RangeY(0, 0)
	low.RangeY(0, 0)
	r.Figure(*f)
	if same {
		r.Note("start earliest, the other reading: the rules' episodes are the same number by number, " +
			"since none of them books a later start; fig3-deeprm.csv has both")
	} else {
		r.Note("start earliest, the other reading, changes what rules come to: fig3-deeprm.csv has both")
	}
}

// learnedName stands for every policy that was trained on DeepRM's cluster.
const learnedName = "DeepRM"

// paperValue is a value of the paper's Fig. 3 or of the prose on it.
type paperValue struct {
	load   float64 // %
	policy string
	lo, hi float64 // equal where it says one number
	word   string  // under, over, about, or empty for a range
}

var published = []paperValue{
	{70, sjfName, 5, 5, "under"}, {70, packerName, 5, 5, "under"}, {70, starName, 5, 5, "under"},
	{70, learnedName, 5, 5, "under"},
	{130, starName, 6, 6, "about"}, {130, sjfName, 7, 7, "about"}, {130, packerName, 12, 12, "over"},
	{130, learnedName, 4, 4, "under"},
	{190, starName, 8, 9, ""}, {190, sjfName, 8, 9, ""}, {190, packerName, 20, 20, "over"},
	{190, learnedName, 5, 5, "under"},
}

// near is the relative distance from a number that the paper calls "about" so much. The paper gives none: it is ours.
const near = 0.1

// says is the paper's value in words.
func (v paperValue) says() string {
	if v.word == "" {
		return fmt.Sprintf("%g to %g", v.lo, v.hi)
	}
	return fmt.Sprintf("%s %g", v.word, v.lo)
}

// rule is how the paper's words are held against an estimate.
func (v paperValue) rule() suite.Rule {
	switch v.word {
	case "under":
		return suite.Under(v.hi)
	case "over":
		return suite.Over(v.lo)
	case "about":
		return suite.Meets(v.lo*(1-near), v.hi*(1+near))
	}
	return suite.Meets(v.lo, v.hi)
}

// deepRMRows are the paper's values of Fig. 3 beside ours, and the leads of its prose.
func deepRMRows(r *suite.Report, s *readings) {
	for _, v := range published {
		for _, i := range s.find(v.policy) {
			f, load := s.at(i, v.load)
			r.Measured(suite.Row{
				Figure: fmt.Sprintf("3, %g %%", v.load), Quantity: "slowdown, " + f.players[i].Name, Unit: "1",
				Paper: new((v.lo + v.hi) / 2),
				Note:  fmt.Sprintf("the paper: %s; here at load %.0f %%", v.says(), load),
			}, stats.Scores{f.values(i, "slowdown")})
		}
	}
	for _, v := range leads {
		for _, i := range s.find(learnedName) {
			f, _ := s.at(i, v.load)
			r.Measured(suite.Row{
				Figure: fmt.Sprintf("3, %g %%", v.load), Unit: "%", Paper: new(v.percent),
				Quantity: fmt.Sprintf("slowdown, %s less than %s", f.players[i].Name, v.rival),
				Note:     fmt.Sprintf("the paper: “%s”", v.words),
			}, lead(f, i, v.rival))
		}
	}
}

// leads are by how much the paper's curve lies below rules.
var leads = []struct {
	load    float64
	rival   string
	percent float64
	words   string
}{
	{130, starName, 33, "33 % improvement over the best heuristic baseline"},
	{130, packerName, 67, "67 % improvement over Packer"},
	{190, starName, 40, "40 % improvement over Tetris*"}, {190, sjfName, 60, "60 % improvement over SJF"},
}

// lead is by how much a player is below a rule, in per cent of the rule's slowdown.
func lead(f *field, i int, rival string) stats.Scores {
	return f.slowdowns(i, f.find(rival), func(own, rule float64) float64 { return 100 * (1 - own/rule) })
}

// fig3Evidence is what the claims about Fig. 3 are measured from.
type fig3Evidence struct {
	*readings
	verdicts []suite.Comparison
}

type fig3Part = suite.Part[*fig3Evidence]

// nobody is the finding where no trained policy plays.
const nobody = "no trained policy plays"

// fig3Claims are the paper's about Fig. 3. The numbers and words of its values are the table published, those of the
// learned policy's leads the table leads; each policy that plays for the paper's is a reading of its own.
var fig3Claims = []suite.Statement[*fig3Evidence]{
	{Claim: "Fig. 3: up to 70 % load all slowdowns are below 5", Parts: valuesAt(70, false)},
	{Claim: "Fig. 3: at 130 % Tetris degrades to about 6, SJF to 7, Packer to over 12", Parts: valuesAt(130, false)},
	{Claim: "Fig. 3: at 190 % SJF and Tetris* are at 8 to 9, Packer above 20", Parts: valuesAt(190, false)},
	{Claim: "Fig. 3: the learned curve stays below 4 at 130 %", Parts: valuesAt(130, true), None: nobody},
	{Claim: "Fig. 3: the learned curve stays below 5 at 190 %", Parts: valuesAt(190, true), None: nobody},
	{
		Claim: "it is 33 % below the best rule and 67 % below Packer at 130 %, 40 % below Tetris* and 60 % below SJF at " +
			"190 %",
		Parts: []fig3Part{
			{Measure: leadsFound},
			{Measure: sjfFound, Lead: ". The numbers do not fit each other: 60 % below SJF at a slowdown of 5 needs SJF at " +
				"12.5, and it is stated at 8 to 9 (here "},
		},
		None: nobody,
	},
}

// fig3Learned is asked only where a trained policy plays.
var fig3Learned = []suite.Statement[*fig3Evidence]{
	suite.Says("the learned policy is below every rule at high load", nil, highLoad).Else(nobody),
}

// valuesAt holds the published values at a load against ours: the rules', or the learned policies'.
func valuesAt(load float64, learned bool) []fig3Part {
	where := func(e *fig3Evidence, _ suite.Rule) []suite.Finding {
		if learned && len(e.find(learnedName)) == 0 {
			return nil
		}
		_, at := e.at(0, load)
		return []suite.Finding{{Text: fmt.Sprintf("at load %.0f %%: ", at)}}
	}
	values := func(e *fig3Evidence, _ suite.Rule) (out []suite.Finding) {
		for _, v := range published {
			if v.load != load || (v.policy == learnedName) != learned {
				continue
			}
			for _, i := range e.find(v.policy) {
				f, _ := e.at(i, load)
				x := f.estimate(i, "slowdown")
				word, name := v.rule()(x), f.players[i].Name
				found := suite.Finding{Verdict: word,
					Text: fmt.Sprintf("%s %s, where the paper has %s (%s)", name, x, v.says(), word)}
				if learned {
					found.Reading = name
				}
				out = append(out, found)
			}
		}
		return out
	}
	return []fig3Part{{Measure: where}, {Measure: values}}
}

func leadsFound(e *fig3Evidence, _ suite.Rule) (out []suite.Finding) {
	for _, v := range leads {
		for _, i := range e.find(learnedName) {
			f, _ := e.at(i, v.load)
			x := f.r.Estimate(lead(f, i, v.rival))
			word, name := suite.Reaches(v.percent)(x), f.players[i].Name
			out = append(out, suite.Finding{
				Text:    fmt.Sprintf("%s at %g %% %s %% below %s (%s)", name, v.load, x, v.rival, word),
				Verdict: word, Reading: name,
			})
		}
	}
	return out
}

func sjfFound(e *fig3Evidence, _ suite.Rule) []suite.Finding {
	sjf := e.find(sjfName)[0]
	f, _ := e.at(sjf, 190)
	return []suite.Finding{{Text: fmt.Sprintf("%s)", f.estimate(sjf, "slowdown"))}}
}

// highLoad says which rules each learned policy is better than.
func highLoad(e *fig3Evidence, _ suite.Rule) (out []suite.Finding) {
	for _, i := range e.find(learnedName) {
		f, load := e.at(i, 190)
		for _, v := range e.verdicts {
			if v.Setting != f.name || v.A != f.players[i].Name {
				continue
			}
			word := v.Verdict
			if word == eval.Undecided {
				word = "neither better nor worse beyond chance"
			}
			text := fmt.Sprintf("%s is %s than %s", v.A, word, v.B)
			if len(out) == 0 {
				text = fmt.Sprintf("at load %.0f %%: ", load) + text
			}
			out = append(out, suite.Finding{Text: text, Verdict: suite.Of(v.Verdict), Reading: v.A})
		}
	}
	return out
}
