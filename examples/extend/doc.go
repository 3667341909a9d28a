// Command room is Stoker with an environment, a learner, a baseline and a suite of its own, in a module of its own. Each
// is a file with its row: room.go, climb.go, thermostat.go, suite.go. main.go names the rows, and every command then
// knows them:
//
//	go build -o stoker .
//	./stoker train room.yaml
//	./stoker eval runs/room-s1
//
// README.md has all steps, docs/extending.md of Stoker explains them.
package main
