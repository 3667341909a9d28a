package maddpg

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
)

// manySpec is a problem of n agents in a ring.
func manySpec(n int) *envs.Spec {
	k := envs.Kind{Name: "agent", Agents: n, Observation: envs.Unbounded(50), Action: envs.NewBox(4, 0, 1)}
	for i := range n {
		k.Neighbours = append(k.Neighbours, []int{(i + 1) % n})
	}
	return &envs.Spec{ID: "many", Kinds: []envs.Kind{k}}
}

// The number of parameters is that of the networks that are made.
func TestNeedsParameters(t *testing.T) {
	e := native.New(native.Options{})
	defer e.Close()
	for _, mix := range []string{Attention, Mean, Joint, Single, None} {
		for _, shared := range []bool{false, true} {
			c := Default()
			c.Mix, c.Shared, c.Batch, c.Replay = mix, shared, 8, 100
			s := manySpec(6)
			l := must.Get(New(c, agents.Context{Spec: s, NumEnvs: 1, Train: e, Act: e, Seed: 1, Steps: 100}))(t)
			want := nets.Size(l.update.actor.Params()) + nets.Size(l.update.critic.Params())
			got := must.Get(c.Needs(s, 100))(t)
			if got.Parameters != int64(want) {
				t.Errorf("%s, shared %v: %d parameters, want %d", mix, shared, got.Parameters, want)
			}
		}
	}
}

// A learner that no machine of today holds is refused before anything is allocated, and the error says what it needs.
func TestNeedsMoreThanThereIs(t *testing.T) {
	e := native.New(native.Options{})
	defer e.Close()
	c := Default()
	c.Mix, c.Hidden = Joint, []int{1 << 14}
	s := manySpec(4000)
	_, err := New(c, agents.Context{Spec: s, NumEnvs: 1, Train: e, Act: e, Seed: 1, Steps: 100})
	if err == nil {
		t.Fatal("a critic of 4,000 agents with weights of their own was accepted")
	}
	for _, part := range []string{"4000 agents with mix: joint need about", "GB of memory", "with shared: true it needs"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
}
