// Command stoker trains, evaluates and exports policies that price, schedule and size serverless GPU services.
package main

import (
	"os"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], catalog.Default())) }
