package main

import (
	"embed"

	"github.com/stoker-rl/stoker/workbench"
)

// source describes the keys of the configurations: the comments of their fields are shown by train --schema.
//
//go:embed *.go
var source embed.FS

// mine is what this program adds to Stoker.
var mine = []workbench.Option{
	workbench.Envs(room), workbench.Learners(climb), workbench.Baselines(thermostat), workbench.Suites(thermostats),
}

func main() { workbench.Main(mine...) }
