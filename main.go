// Command stoker trains, evaluates and exports policies that price, schedule and size serverless GPU services.
package main

import "github.com/stoker-rl/stoker/workbench"

func main() { workbench.Main() }
