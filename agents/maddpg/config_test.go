package maddpg

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/internal/must"
)

func TestDefaultIsValid(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
}

func TestConfigRoundTripsThroughYAML(t *testing.T) {
	want := Default()
	want.Mix, want.Hidden, want.Safe.On = Joint, []int{3, 4}, true
	b := must.Get(yaml.Dump(want))(t)
	var got Config
	must.Do(t, yaml.Load(b, &got))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read back %+v, want %+v", got, want)
	}
}

func TestValidateNamesTheKey(t *testing.T) {
	for key, spoil := range map[string]func(*Config){
		"mix":              func(c *Config) { c.Mix = "mixed" },
		"score":            func(c *Config) { c.Score = "cubed" },
		"others":           func(c *Config) { c.Others = "none" },
		"batches":          func(c *Config) { c.Batches = "one" },
		"activation":       func(c *Config) { c.Activation = "gelu" },
		"norm":             func(c *Config) { c.Norm = "batch" },
		"hidden[1]":        func(c *Config) { c.Hidden = []int{4, 0} },
		"keys":             func(c *Config) { c.Keys = 0 },
		"final_bound":      func(c *Config) { c.FinalBound = -1 },
		"actor_rate":       func(c *Config) { c.ActorRate = 0 },
		"critic_rate":      func(c *Config) { c.CriticRate = math.NaN() },
		"rate_final":       func(c *Config) { c.RateFinal = 2 },
		"clip":             func(c *Config) { c.Clip = -1 },
		"gamma":            func(c *Config) { c.Gamma = 1.1 },
		"gamma_seconds":    func(c *Config) { c.GammaSeconds = -1 },
		"tau":              func(c *Config) { c.Tau = 0 },
		"reward_scale":     func(c *Config) { c.RewardScale = 0 },
		"batch":            func(c *Config) { c.Batch = 0 },
		"replay":           func(c *Config) { c.Replay = 0 },
		"random_steps":     func(c *Config) { c.RandomSteps = -1 },
		"learning_starts":  func(c *Config) { c.LearningStarts = -1 },
		"update_every":     func(c *Config) { c.UpdateEvery = 0 },
		"gradient_steps":   func(c *Config) { c.GradientSteps = 0 },
		"noise":            func(c *Config) { c.Noise = -0.1 },
		"noise_final":      func(c *Config) { c.NoiseFinal = -0.1 },
		"noise_steps":      func(c *Config) { c.NoiseSteps = -1 },
		"noise_low":        func(c *Config) { c.NoiseLow = -1 },
		"noise_high":       func(c *Config) { c.NoiseLow, c.NoiseHigh = 0.5, 0.5 },
		"temperature":      func(c *Config) { c.Temperature = 0 },
		"logit_penalty":    func(c *Config) { c.LogitPenalty = -1 },
		"observation_clip": func(c *Config) { c.ObservationClip = 0 },
		"safe.price":       func(c *Config) { c.Safe.On, c.Safe.Price = true, "" },
		"safe.cheapest":    func(c *Config) { c.Safe.On, c.Safe.Cheapest = true, 2 },
		"safe.deviations":  func(c *Config) { c.Safe.On, c.Safe.Deviations = true, 0 },
		"safe.noise":       func(c *Config) { c.Safe.On, c.Safe.Noise = true, -1 },
		"safe.low":         func(c *Config) { c.Safe.On, c.Safe.Low = true, 0.95 },
		"safe.min_history": func(c *Config) { c.Safe.On, c.Safe.MinHistory = true, 0 },
		"safe.violations":  func(c *Config) { c.Safe.On, c.Safe.Violations = true, 0 },
	} {
		c := Default()
		spoil(&c)
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), key+" is ") {
			t.Errorf("%s: error %v, want one that begins with the key", key, err)
		}
	}
	for want, spoil := range map[string]func(*Config){
		`mix is "attention"`: func(*Config) {},
		`mix is "single"`:    func(c *Config) { c.Mix = Single },
		`others is "policy"`: func(c *Config) { c.Mix, c.Others = Joint, Policy },
		"absent is true":     func(c *Config) { c.Mix, c.Absent = Joint, true },
	} {
		c := Default()
		c.Batches = Independent
		spoil(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "with batches: independent") {
			t.Errorf("independent minibatches where %s gave %v", want, err)
		}
	}
	c := Default()
	c.Mix, c.Others = Single, Batch
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "others") {
		t.Errorf("single with others: batch gave %v", err)
	}
}

func TestOthersByDefault(t *testing.T) {
	for mix, want := range map[string]bool{Attention: false, Mean: false, Joint: true, Single: false, None: false} {
		c := Default()
		c.Mix = mix
		if got := c.othersFromReplay(); got != want {
			t.Errorf("%s: others' actions from replay: %v, want %v", mix, got, want)
		}
	}
}
