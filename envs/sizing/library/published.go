package library

import (
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/envs/sizing"
)

// publishedFirst is the first column of FaaSConf's published measurements.
const publishedFirst = "cpu-func1"

// These are the columns that a file of FaaSConf's measurements has under other names.
var (
	publishedActions = map[string]string{"cpu": "cpu", "mem": "memory", "replicas": "replicas", "concurrency": "concurrency"}
	publishedFeature = []struct{ theirs, ours, unit string }{
		{"cpu_metric", "cpu used", "% of a core"}, {"thr_metric", "throttled", "millicores"},
		{"mem_metric", "memory used", "% of the limit"}, {"network_metric", "network", "bytes/s"},
		{"latency_p75", "p75", "s"}, {"latency-p95", "p95", "s"},
	}
	publishedInfo = []struct{ theirs, ours, unit string }{
		{"e2e-latency", "latency", "s"}, {"p95-latency", "latency_p95", "s"}, {"thoughput(success)", "successes", "requests"},
		{"total_request", "requests", "requests"}, {"price", "price", "USD/h"}, {"qps", "load", "users"},
	}
)

// publishedFunctions are the functions of the Parallel workflow, the only one of which measurements are published, in
// the order of the file's columns.
var publishedFunctions = []string{"starter", "rgb", "resize", "update", "resnet", "mobilenet"}

// published reads the header of FaaSConf's published file: cpu-funcN, mem-funcN, replicas-funcN and concurrency-funcN
// are the action of function N. Then a block of ten columns for each function begins with its name (the header has
// "func1", "fucn2" and so on there), its resources and its metrics under headers that repeat. The window's outcome ends the line;
// qps is the number of users.
func (p *parser) published() error {
	l, n := p.l, len(publishedFunctions)
	const block = 10 // columns of a function's measurements
	p.workflow, l.Functions, p.first = sizing.Parallel, publishedFunctions, [4]int{-1, -1, -1, -1}
	components := []string{"cpu", "mem", "replicas", "concurrency"}
	if want := n*len(components) + n*block + len(publishedInfo); len(p.header) != want {
		return p.bad(1, "the published file has %d columns, this one %d", want, len(p.header))
	}
	for i, h := range p.header[:n*len(components)] {
		c, _, ok := strings.Cut(h, "-func")
		if !ok || c != components[i%len(components)] {
			return p.bad(1, "column %d is %q, want %s-func%d", i+1, h, components[i%len(components)], i/len(components)+1)
		}
		p.action = append(p.action, i)
	}
	for _, c := range components {
		l.Actions = append(l.Actions, Column{publishedActions[c], "of its range"})
		l.Features = append(l.Features, Column{"last " + publishedActions[c], "of its range"})
	}
	for _, f := range publishedFeature {
		l.Features = append(l.Features, Column{f.ours, f.unit})
	}
	l.Features = append(l.Features, Column{"load", "users"})
	users := slices.Index(p.header, "qps")
	for f := range n {
		for c := range components {
			p.feature = append(p.feature, f*len(components)+c)
		}
		from := n*len(components) + f*block
		for _, m := range publishedFeature {
			i := slices.Index(p.header[from:from+block], m.theirs)
			if i < 0 {
				return p.bad(1, "there is no column %q among those from %d to %d", m.theirs, from+1, from+block)
			}
			p.feature = append(p.feature, from+i)
		}
		p.feature = append(p.feature, users)
	}
	for _, q := range publishedInfo {
		i := slices.Index(p.header, q.theirs)
		if i < 0 {
			return p.bad(1, "there is no column %q", q.theirs)
		}
		l.Info = append(l.Info, Column{q.ours, q.unit})
		p.window = append(p.window, i)
	}
	p.first[1] = users
	return nil
}
