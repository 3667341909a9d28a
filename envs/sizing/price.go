package sizing

import "github.com/stoker-rl/stoker/envs"

// PriceOf returns the price of an action in USD per hour, without execution times. It does not step the environment.
// Safe exploration (FaaSConf, §4.3) uses it.
func (e *Env) PriceOf(act *envs.Action) (float64, error) {
	if err := envs.CheckAction(e.spec, nil, act); err != nil {
		return 0, err
	}
	w, sum := e.app.rng.Components(), 0.0
	for a := act.Kinds[0]; len(a) > 0; a = a[w:] {
		r := e.app.rng.Decode(a[:w])
		sum += e.rates.Hourly(r.CPU, r.Memory, r.Replicas)
	}
	return sum, nil
}
