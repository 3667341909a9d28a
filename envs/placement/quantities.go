package placement

import "github.com/stoker-rl/stoker/envs"

// quantities lists what a step reports.
func quantities() []envs.Quantity {
	some, share := envs.AtLeast(0), envs.Share()
	perTime := func(name, unit string, b envs.Better, in envs.Bounds, doc string) envs.Quantity {
		return envs.Quantity{Name: name, Unit: unit, Better: b, Reduce: envs.PerTime, Bounds: in, Doc: doc}
	}
	last := func(name, unit string, b envs.Better, in envs.Bounds, doc string) envs.Quantity {
		return envs.Quantity{Name: name, Unit: unit, Better: b, Reduce: envs.Last, Bounds: in, Doc: doc}
	}
	info := []envs.Quantity{
		last("slowdown", "1", envs.Lower, some, "mean over the requests finished so far of response time / ideal response "+
			"time; at a cut the others count too, with their time so far"),
		last("invocation slowdown", "1", envs.Lower, some,
			"mean over the invocations ended so far of (end − start of waiting) / time at amount 1 and speed 1"),
		last("finished", "requests", envs.Higher, some, "requests finished so far"),
		last("invocations", "invocations", envs.Higher, some, "invocations ended so far"),
		last("dropped", "requests", envs.Lower, some, "requests that found the system full so far"),
		last("violations", "1", envs.Lower, share,
			"share of the requests finished or dropped so far that missed their deadline"),
		last("cold starts", "invocations", envs.Lower, some, "cold starts so far"),
		last("cold share", "1", envs.Lower, share, "cold starts over all starts so far"),
		last("evictions", "instances", envs.Neither, some, "warm instances that a cold start's memory drove out so far"),
		{Name: "cost", Unit: "USD", Better: envs.Lower, Reduce: envs.Sum, Bounds: some, AssumesService: true,
			Doc: "price of what was allocated or kept warm"},
		perTime("utilisation", "1", envs.Higher, share,
			"used over all, the mean of the resources, each weighted by the share of it that the load takes"),
	}
	for _, r := range ResourceNames {
		info = append(info, perTime(r+" utilisation", "1", envs.Higher, share,
			"used over all; instances that are warm but idle use nothing"))
	}
	info = append(info,
		last("efficiency", "1", envs.Higher, some,
			"work done over CPU held, at amount 1 and speed 1, of the invocations ended so far: "+
				"what a larger amount, a cold start or a transfer wastes"),
		perTime("waiting", "invocations", envs.Lower, some, "invocations that wait"),
		envs.Quantity{Name: "backlog", Unit: "invocations", Better: envs.Lower, Reduce: envs.Max, Bounds: some,
			Doc: "invocations that wait beyond the window, at the step's end"},
	)
	for _, t := range []struct{ name, doc string }{
		{"latency", "minus the weighted sum of time in the system over ideal response time"},
		{"utilisation", "minus the weighted seconds of the cluster that were idle while an invocation waited"},
		{"violations", "minus the weighted deadlines missed, and requests dropped"},
		{"cost", "minus the weighted cost"},
	} {
		info = append(info, envs.Quantity{Name: "reward: " + t.name, Unit: "1", Better: envs.Higher, Reduce: envs.Sum,
			Doc: t.doc})
	}
	return info
}
