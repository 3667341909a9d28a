package catalog_test

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
)

// The shipped catalog is sound; each thing that can be wrong with a row is said, with the row's name.
func TestCheck(t *testing.T) {
	if err := catalog.Default().Check(); err != nil {
		t.Error(err)
	}
	good := catalog.Default()
	env, learner, baseline := good.Envs[0], good.Learners[0], good.Baselines[0]
	for want, spoil := range map[string]func(c *catalog.Catalog){
		`two environments are called "` + env.ID + `"`: func(c *catalog.Catalog) { c.Envs = append(c.Envs, env) },
		`two learners are called "` + learner.Name:     func(c *catalog.Catalog) { c.Learners = append(c.Learners, learner) },
		`two baselines are called "` + baseline.Name:   func(c *catalog.Catalog) { c.Baselines = append(c.Baselines, baseline) },
		`environment "Room": want a name such as mine/Room-v1`: func(c *catalog.Catalog) {
			c.Envs = append(c.Envs, env)
			c.Envs[len(c.Envs)-1].ID = "Room"
		},
		`learner "my learner": want a name such as climb`: func(c *catalog.Catalog) { c.Learners[0].Name = "my learner" },
		`Doc is empty`: func(c *catalog.Catalog) { c.Envs[0].Doc = "" },
		`make it with catalog.DefineLearner`: func(c *catalog.Catalog) {
			c.Learners = append(c.Learners, catalog.Learner{Name: "mine", Doc: "it learns"})
		},
		`its Config returns a int, want a pointer to a struct`: func(c *catalog.Catalog) {
			c.Baselines[0].Config = func() any { return 3 }
		},
		`Envs: no environment "mine/Room-v1"`: func(c *catalog.Catalog) { c.Baselines[0].Envs = []string{"mine/Room-v1"} },
	} {
		c := catalog.Default()
		spoil(c)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
