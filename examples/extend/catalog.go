package extend

import (
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs/workload"
)

// Catalog is Stoker's own catalog with three rows more.
func Catalog() *catalog.Catalog {
	c := catalog.Default()
	c.Envs = append(c.Envs, catalog.DefineEnv(catalog.Env{
		ID: RoomID, Doc: "keep a room at 20 °C, minute by minute",
	}, DefaultRoom, func(c RoomConfig, _ workload.Config) (*Room, error) { return NewRoom(c) }))
	c.Learners = append(c.Learners, catalog.DefineLearner(catalog.Learner{
		Name: "climb", Doc: "hill climbing over one constant action",
	}, DefaultClimb, NewClimb, OpenHeld))
	c.Rivals = append(c.Rivals, catalog.DefinePolicy(catalog.Rival{
		Name: "thermostat", Doc: "full power below a temperature, none above", Envs: []string{RoomID},
	}, DefaultThermostat, NewThermostat))
	return c
}
