// Package suites is the one table of suites: what `stoker suite` can redo is what stands here. A suite is a folder
// below; package suite is what they are made with.
package suites

import (
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/suites/internal/faasconf"
	"github.com/stoker-rl/stoker/eval/suites/internal/gnn"
	"github.com/stoker-rl/stoker/eval/suites/internal/hops"
	"github.com/stoker-rl/stoker/eval/suites/internal/misses"
	"github.com/stoker-rl/stoker/eval/suites/internal/optiserve"
	"github.com/stoker-rl/stoker/eval/suites/internal/stepconf"
)

// All lists the suites.
func All() []suite.Suite {
	return []suite.Suite{
		hops.Suite(),
		faasconf.Suite(),
		gnn.Fig1(),
		gnn.Fig3(),
		gnn.Generalise(),
		optiserve.Suite(),
		stepconf.Suite(),
		misses.Suite(),
		misses.Contended(),
	}
}
