package hops

import (
	"os"
	"path/filepath"

	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval/suite"
)

// world is what policies play in, their own terms aside.
type world struct {
	name   string // as tables have it
	config pricing.Config
	load   workload.Config
}

// Names of worlds, as tables have them.
const (
	generatedName = "generated arrivals"
	azureName     = "Azure day"
	outsideName   = "generated arrivals, users may stay away"
)

// generated is the paper's setting on a day's wave with noise, from its first window.
func generated() world {
	w := world{name: generatedName, config: pricing.Default(), load: workload.Default()}
	w.config.Demand.Source, w.config.Demand.Start = pricing.Generated, 0
	return w
}

// azure is the same on the embedded sample of Azure's day, from midnight: 24 windows, after which the day begins anew.
func azure() world {
	w := world{name: azureName, config: pricing.Default(), load: workload.Default()}
	w.config.Demand.Start = 0
	return w
}

// azureData is the day of the larger sample, 100 functions, in a folder of data.
func azureData(data string) (world, error) {
	w := azure()
	w.name = "Azure day, 100 functions"
	w.load.Path, w.load.Sample = filepath.Join(data, "azure2019"), 100
	if file := filepath.Join(w.load.Path, "100_inv.csv"); !isFile(file) {
		return w, suite.Usage("--data: there is no %s, the invocations of In-Vitro's sample of 100 functions", file)
	}
	return w, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// outside is generated arrivals of users who may stay away, so that profit has an optimum in price.
func outside() world {
	w := generated()
	w.name, w.config.Profile = outsideName, pricing.OutsideProfile
	return w
}
