// Package extend adds an environment, a learner, a rival and a suite to Stoker without touching it. docs/extending.md
// explains it.
//
// Each is a file: room.go, climb.go, thermostat.go, suite.go. [Catalog] has their rows; a main of one's own is
//
//	func main() { os.Exit(cli.Main(os.Args[1:], extend.Catalog())) }
//
// after which every command knows them: stoker train, eval, explain, envs, agents.
package extend
