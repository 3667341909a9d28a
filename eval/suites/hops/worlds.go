package hops

import (
	"path/filepath"

	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval/suite"
)

// world is what policies play in, their own terms aside.
type world struct {
	// name stands in tables, file in files' names.
	name, file string
	config     pricing.Config
	load       workload.Config
}

// Names of worlds, as tables have them.
const (
	generatedName = "generated arrivals"
	azureName     = "Azure day"
	outsideName   = "generated arrivals, users may stay away"
)

// generated is the paper's setting on a day's wave with noise, from its first window.
func generated() world {
	w := world{name: generatedName, file: "generated", config: pricing.Default(), load: workload.Default()}
	w.config.Demand.Source, w.config.Demand.Start = pricing.Generated, 0
	return w
}

// azure is the same on the embedded sample of Azure's day, from midnight: 24 windows, after which the day begins anew.
func azure() world {
	w := world{name: azureName, file: "azure", config: pricing.Default(), load: workload.Default()}
	w.config.Demand.Start = 0
	return w
}

// azureData is the day of the larger sample in the folder of data.
func azureData(o *suite.Options) world {
	w := azure()
	w.name, w.file = "Azure day, 100 functions", "azure100"
	w.load.Path, w.load.Sample = filepath.Join(o.Data, "azure2019"), 100
	return w
}

// outside is generated arrivals of users who may stay away, so that profit has an optimum in price.
func outside() world {
	w := generated()
	w.name, w.file, w.config.Profile = outsideName, "outside", pricing.OutsideProfile
	return w
}
