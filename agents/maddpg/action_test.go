package maddpg

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

func TestChoose(t *testing.T) {
	c, _ := newActionCodec(envs.MultiDiscrete{N: []int{3, 2}})
	hot, out := make([]float32, 5), make([]float32, 2)
	c.choose([]float32{1, 4, 4, -2, -1}, hot, out)
	if want := []float32{0, 1, 0, 0, 1}; !slices.Equal(hot, want) {
		t.Errorf("one-hot is %v, want %v", hot, want)
	}
	if want := []float32{1, 1}; !slices.Equal(out, want) {
		t.Errorf("choices are %v, want %v", out, want)
	}
}

func TestSpacesRefused(t *testing.T) {
	for _, k := range []struct {
		s    envs.Space
		want string
	}{
		{envs.Unbounded(2), "component 0 ranges over [-Inf, +Inf], want finite bounds"},
		{envs.Tuple{Spaces: []envs.Space{envs.Discrete{N: 2}}}, "want Box, Discrete or MultiDiscrete"},
	} {
		if _, err := newActionCodec(k.s); err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("%v: error %v, want one with %q", k.s, err, k.want)
		}
	}
}

func TestStoredMasks(t *testing.T) {
	s := rng.NewStream(1, "masks")
	for _, n := range []int{1, 5, 23, 24, 25, 60} {
		mask := make([]bool, n)
		for i := range mask {
			mask[i] = s.IntN(2) == 0
		}
		words := make([]float32, maskWords(n))
		packMask(mask, words)
		got, want := make([]float32, n), make([]float32, n)
		forbidPacked(got, words)
		actor.Forbid(want, mask)
		if !slices.Equal(got, want) {
			t.Errorf("%d choices: %v after storing, want %v", n, got, want)
		}
	}
}
