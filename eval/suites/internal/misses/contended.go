package misses

import (
	"context"
	"fmt"

	rules "github.com/stoker-rl/stoker/agents/baselines/steps"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/atmiss"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/lists"
)

// Contended returns the suite contended: workflows whose steps share a small cluster. Five policies of
// configs/steps/contended.yaml play, and the planners with and without their caps.
func Contended() suite.Suite {
	return suite.Suite{
		Name:  "contended",
		Doc:   "steps that share a small cluster: planners with and without a cap and learned policies at equal misses",
		Paper: "none; the comparison is this project's", Seeds: 20, QuickSeeds: 2,
		Run: func(ctx context.Context, o suite.Options, r *suite.Report) error {
			s := contendedSize{factors: []float64{1.2, 1.35, 1.5, 2}, each: []int{4, 1, 2, 1}, requests: 5, trainings: 5}
			if o.Quick {
				s = contendedSize{factors: s.factors[1:2], each: []int{1, 1, 1, 1}, requests: 2}
			}
			return playContended(ctx, &o, r, s)
		},
	}
}

// contendedSize says how much is played.
type contendedSize struct {
	factors   []float64
	each      []int // workflows of a seed, by world; worlds beyond are left out
	requests  int   // of a workflow and seed
	trainings int
}

// capped is the method that the others are compared with: the planner that sees most.
const capped = "steps-lookahead cap=schedule"

// contendedPrices of a miss are the settings of the methods that see the whole cluster.
var contendedPrices = []float64{1, 3, 10, 30, 100}

// contendedWorlds are the workflows: generated ones and TPC-H's on 1 to 4 workers, StepConf's on its six.
func contendedWorlds(data string) []world {
	wide := generated("wide graphs", steps.WideShape, 4, 16)
	wide.env.Platform, wide.env.Workers, wide.env.Base = steps.Knative, []int{1, 4}, steps.OnCluster
	stream, dag, tpch := wide, preset("dag"), wide
	stream.name, stream.env.Requests, stream.env.Rate = "streams of 8 requests", 8, []float64{1, 4}
	tpch.name, tpch.env.Workflow, tpch.env.Data, tpch.env.Steps = "TPC-H", steps.AllTPCH, data, []int{3, 19}
	return []world{wide, dag, tpch, stream}
}

// contendedPlanners are the planners with and without their caps.
func contendedPlanners() (all []atmiss.Method) {
	quantiles, prices := []float64{0.9, 0.95, 0.98}, []float64{1, 10}
	add := func(name, limit, setting string, values []float64, config func(float64) any) {
		all = append(all, atmiss.Baseline(name+" cap="+limit, name, setting, values, config))
	}
	for _, limit := range []string{rules.NoCap, rules.Siblings} {
		add("stepconf", limit, "quantile", quantiles, func(q float64) any {
			c := rules.DefaultStepConf()
			c.Quantile, c.Cap = q, limit
			return &c
		})
	}
	for _, limit := range []string{rules.NoCap, rules.Siblings, rules.Scheduled} {
		add("replan", limit, "quantile", quantiles, func(q float64) any {
			c := rules.DefaultReplan()
			c.Quantile, c.Cap = q, limit
			return &c
		})
		if limit == rules.Scheduled {
			prices = contendedPrices
		}
		add("steps-lookahead", limit, "miss", prices, func(x float64) any { return &rules.LookaheadConfig{Miss: x, Cap: limit} })
	}
	return all
}

// trainContended trains the policies, or takes them up.
func trainContended(ctx context.Context, o *suite.Options, trainings int) ([]*eval.Trained, error) {
	var plan []suite.Training
	for seed := range trainings {
		x, err := configs.Load("steps/contended.yaml", []string{fmt.Sprintf("seed=%d", seed+1)}, catalog.Default())
		if err != nil {
			return nil, err
		}
		plan = append(plan, suite.Training{Name: fmt.Sprintf("%s-s%d", x.Name, x.Seed), Experiment: x})
	}
	dirs, err := o.Train(ctx, "training", plan)
	if err != nil {
		return nil, err
	}
	return lists.Try(dirs, func(dir string) (*eval.Trained, error) {
		t, err := eval.OpenTrained(catalog.Default(), dir, nil)
		if err == nil {
			t.Threads = 1
		}
		return t, err
	})
}

// learnedContended is the policies as a method: the price of a miss that they are shown is what trades cost against misses.
func learnedContended(trained []*eval.Trained, c steps.EnvConfig) atmiss.Method {
	newEnv := func(miss float64) func() (envs.Env, error) {
		return func() (envs.Env, error) {
			w := c
			w.Contention, w.Miss = steps.Seen, []float64{miss, miss}
			return steps.New(w, steps.Given{})
		}
	}
	return atmiss.Method{Name: "learned", Setting: "miss", Values: contendedPrices,
		Make: func(miss float64) (eval.Contestant, error) {
			out := eval.Contestant{Name: "learned", Kind: catalog.Learned, NewEnv: newEnv(miss)}
			for _, t := range trained {
				out.Versions = append(out.Versions, t.Version(t.Source))
			}
			return out, nil
		}}
}

func playContended(ctx context.Context, o *suite.Options, r *suite.Report, s contendedSize) error {
	trained, err := trainContended(ctx, o, s.trainings)
	if err != nil {
		return err
	}
	worlds := contendedWorlds(o.Data)
	for k, each := range s.each {
		w := worlds[k]
		f := newFigure("contended-"+w.name, " on a shared cluster: ", w.name, "base")
		for _, factor := range s.factors {
			c := w.limited(factor)
			if _, err := steps.New(c, steps.Given{}); err != nil {
				r.Note("%s: left out: %s", w.name, err)
				break
			}
			methods := contendedPlanners()
			if len(trained) > 0 {
				methods = append(methods, learnedContended(trained, c))
			}
			played := size{each: each, requests: max(s.requests/c.Requests, 1)}
			res, err := played.atEqualMisses(ctx, o, w, factor, methods, capped, []float64{0.05, 0.1})
			if err != nil {
				return fmt.Errorf("%s at %g: %w", w.name, factor, err)
			}
			rows(r, w.name, factor, res)
			panel(f, fmt.Sprintf("SLO %g × the base", factor), 0.6, factor, res, func(string) bool { return true })
		}
		if len(f.Chart.Panels) > 0 {
			r.Figure(*f)
		}
	}
	r.Note("cost is the price of a request over that of a plan near the cheapest one that keeps the SLO at P90 where nothing " +
		"waits; intervals are of the bootstrap over workflows with their requests, on dag over requests, and over training seeds")
	return nil
}
