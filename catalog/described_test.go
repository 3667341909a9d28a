package catalog_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
)

// A reader of `stoker envs ID` learns of every number what it means, and of shares of a range what their ends stand for.
func TestEveryNumberIsDescribed(t *testing.T) {
	for _, e := range catalog.Default().Envs {
		env := must.Get(e.New(e.Config(), shortLoad()))(t)
		for _, k := range env.Spec().Kinds {
			check := func(what string, s envs.Space, names, units, docs []string) {
				if len(names) == 0 {
					if s.Width() > 0 && k.Doc == "" {
						t.Errorf("%s: %s of %s have neither names nor a text that says how they are laid out", e.ID, what, k.Name)
					}
					return
				}
				if len(units) != len(names) || len(docs) != len(names) {
					t.Errorf("%s: %s of %s: %d names, %d units, %d docs", e.ID, what, k.Name, len(names), len(units), len(docs))
					return
				}
				for i, r := range envs.Ranges(s) {
					low, high := r.Limits()
					switch {
					case docs[i] == "":
						t.Errorf("%s: %s of %s: %q is not explained", e.ID, what, k.Name, names[i])
					case units[i] == "of its range" && !strings.Contains(docs[i], "0 stands for "):
						t.Errorf("%s: %s of %s: %q does not say what 0 and 1 stand for: %s", e.ID, what, k.Name, names[i], docs[i])
					case math.IsNaN(low) || low > high:
						t.Errorf("%s: %s of %s: %q ranges over %v", e.ID, what, k.Name, names[i], r)
					}
				}
			}
			check("features", k.Observation, k.Features, k.FeatureUnits, k.FeatureDocs)
			check("actions", k.Action, k.Actions, k.ActionUnits, k.ActionDocs)
			g, _ := k.Observation.(envs.Graph)
			parts := map[string][]envs.Component{}
			for _, n := range g.Nodes {
				parts[n.Name] = n.Features
			}
			for _, n := range g.Edges {
				if n.Width == 0 {
					continue
				}
				parts[n.Name] = n.Features
			}
			for name, features := range parts {
				if len(features) == 0 {
					t.Errorf("%s: features of %q have no names", e.ID, name)
				}
				for _, f := range features {
					if f.Doc == "" {
						t.Errorf("%s: feature %q of %q is not explained", e.ID, f.Name, name)
					}
				}
			}
		}
	}
}
