package sizing

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
)

// The versions have their own names and defaults, and refuse each other's states.
func TestVersions(t *testing.T) {
	old := must.Get(New(Default(), DefaultWorkload()))(t)
	now := must.Get(NewCounted(DefaultCounted(), DefaultWorkload()))(t)
	if a, b := old.Spec().ID, now.Spec().ID; a != ID || b != CountedID {
		t.Errorf("the names are %s and %s, want %s and %s", a, b, ID, CountedID)
	}
	if old.Config().Refusals != PublishedRefusals || now.Config().Refusals != CountedRefusals {
		t.Errorf("refusals are %s in %s and %s in %s", old.Config().Refusals, ID, now.Config().Refusals, CountedID)
	}
	again, err := now.NewEnv()
	if err != nil || again.Spec().ID != CountedID {
		t.Errorf("a new environment of %s is %v, %v", CountedID, again.Spec().ID, err)
	}
	obs := envs.NewObservation(old.Spec())
	must.Do(t, old.Reset(1, nil, obs))
	b := must.Get(old.AppendBinary(nil))(t)
	if err := now.UnmarshalBinary(b); err == nil || !strings.Contains(err.Error(), ID) {
		t.Errorf("%s takes a state of %s: %v", CountedID, ID, err)
	}
	if err := now.Step(envs.NewAction(now.Spec()), obs, envs.NewOutcome(now.Spec())); err == nil ||
		!strings.Contains(err.Error(), CountedID) {
		t.Errorf("a step before Reset gives %v", err)
	}
}
