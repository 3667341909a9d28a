package main

import (
	"context"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/suite"
)

// thermostats compares one that heats below 20 °C with one that heats below 18 °C, on the same weather.
var thermostats = suite.Suite{
	Name: "thermostats", Doc: "two thermostats in the room", Paper: "none: an example",
	Seeds: 20, QuickSeeds: 10, Run: playThermostats,
}

func playThermostats(ctx context.Context, o suite.Options, r *suite.Report) error {
	request := eval.Request{NewEnv: func() (envs.Env, error) { return NewRoom(DefaultRoom()) }, Seeds: o.Seeds}
	for _, t := range []struct {
		name  string
		below float64
	}{{"at 20", 0}, {"at 18", -2}} {
		request.Contestants = append(request.Contestants, eval.Contestant{
			Name: t.name, Kind: catalog.Heuristic, Versions: []eval.Version{{New: func(env envs.Env) (rollout.Actor, error) {
				p, err := NewThermostat(ThermostatConfig{Below: t.below}, env)
				return rollout.Actor{Policy: p}, err
			}}},
		})
	}
	played, err := o.Play(ctx, "weather", request)
	if err != nil {
		return err
	}
	var all []eval.Scored
	for i, c := range played.Contestants {
		scores := r.Scores(played, i, "off", 1)
		r.Measured(suite.Row{Figure: "1", Quantity: "distance from 20 °C, " + c.Name, Unit: "°C"}, scores)
		all = append(all, eval.Scored{Name: c.Name, Scores: scores})
	}
	r.Compare("an hour", eval.Metric{Name: "off", Better: envs.Lower}, all[0], all[1:]...)
	return nil
}
