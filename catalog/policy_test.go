package catalog_test

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy"
)

// What can act in a policy's place is a baseline of the catalog, for the same environments.
func TestFallbacksAreBaselines(t *testing.T) {
	c := catalog.Default()
	for _, f := range policy.Fallbacks() {
		r, err := c.Baseline(f.Name)
		if err != nil || r.Kind != catalog.Heuristic || !slices.Equal(r.Envs, f.Envs) {
			t.Errorf("fallback %s for %v: the catalog has a %s for %v, %v", f.Name, f.Envs, r.Kind, r.Envs, err)
		}
	}
	for _, w := range policy.Worlds() {
		if _, err := c.Env(w.ID); err != nil || len(policy.FallbacksOf(w.ID)) == 0 {
			t.Errorf("%s: %v, fallbacks %v", w.ID, err, policy.FallbacksOf(w.ID))
		}
	}
}

// The spec of every environment comes back from its JSON as it was.
func TestSpecsThereAndBack(t *testing.T) {
	for _, row := range catalog.Default().Envs {
		t.Run(row.ID, func(t *testing.T) {
			env := must.Get(row.New(row.Config(), workload.Default()))(t)
			s := env.Spec()
			text := must.Get(envs.EncodeSpec(s))(t)
			after := func(_ *envs.Spec, i int) (func(*envs.KindObservation, int, []float32, []bool) error, error) {
				return s.Kinds[i].MaskAfter, nil
			}
			got := must.Get(envs.DecodeSpec(text, after))(t)
			again, err := envs.EncodeSpec(got)
			if err != nil || !bytes.Equal(text, again) {
				t.Errorf("written again: %v\n%s\nwant\n%s", err, again, text)
			}
			want := *s
			want.Kinds = slices.Clone(s.Kinds)
			for i := range want.Kinds {
				a, b := &want.Kinds[i], &got.Kinds[i]
				if (a.MaskAfter == nil) != (b.MaskAfter == nil) {
					t.Errorf("kind %d: dependent masks are %v, want %v", i, b.MaskAfter != nil, a.MaskAfter != nil)
				}
				a.MaskAfter, b.MaskAfter = nil, nil // functions are never equal
			}
			if !reflect.DeepEqual(got, &want) {
				t.Errorf("read\n%+v, want\n%+v", got, &want)
			}
		})
	}
}
