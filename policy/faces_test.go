package policy_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/policy/policytest"
)

// platform measures an environment as a platform would, sends that as JSON, and observes what arrives.
type platform interface {
	observe(t *testing.T, out *envs.Observation) (sent []byte)
	// carry gives a decision in the platform's units.
	carry(t *testing.T, seen *envs.Observation, act *envs.Action) any
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b := must.Get(json.Marshal(v))(t)
	return b
}

func noError(t *testing.T, err error) {
	t.Helper()
	must.Do(t, err)
}

type sized struct {
	env  []*sizing.Env
	face *sizing.Observer
}

func (s *sized) observe(t *testing.T, out *envs.Observation) []byte {
	var all []*sizing.Meters
	for _, e := range s.env {
		all = append(all, e.Meters())
	}
	sent := marshal(t, all)
	meters, err := sizing.ParseMeters(sent)
	noError(t, err)
	noError(t, s.face.Observe(meters, out))
	return sent
}

func (s *sized) carry(t *testing.T, _ *envs.Observation, act *envs.Action) any {
	settings := make([]sizing.Settings, s.face.Spec().Agents())
	noError(t, s.face.Settings(act, settings))
	noError(t, s.face.Fits(settings))
	var named []policy.Sized
	for i, x := range settings {
		if x.Cores <= 0 || x.MB <= 0 || x.Replicas < 1 || x.Concurrency < 1 {
			t.Fatalf("the settings are %+v", x)
		}
		named = append(named, policy.Sized{Function: s.face.Spec().Kinds[0].Names[i], Settings: x})
	}
	return named
}

type priced struct {
	env  *pricing.Pricing
	face *pricing.Observer
}

func (p *priced) observe(t *testing.T, out *envs.Observation) []byte {
	sent := marshal(t, p.env.Meters())
	meters, err := pricing.ParseMeters(sent)
	noError(t, err)
	noError(t, p.face.Observe(meters, out))
	return sent
}

func (p *priced) carry(t *testing.T, _ *envs.Observation, act *envs.Action) any {
	prices := make([]pricing.TierPrice, len(p.env.Config().Tiers))
	noError(t, p.face.Prices(act, prices))
	for i, x := range prices {
		if float32(x.Price) != act.Kinds[0][i] {
			t.Fatalf("tier %d costs %g, decided is %g", i, x.Price, act.Kinds[0][i])
		}
	}
	return prices
}

type placed struct {
	env     *placement.Env
	face    *placement.Observer
	cluster *placement.Cluster
}

func (p *placed) observe(t *testing.T, out *envs.Observation) []byte {
	var known placement.Cluster
	p.env.Cluster(&known)
	sent := marshal(t, &known)
	var err error
	p.cluster, err = placement.ParseCluster(sent)
	noError(t, err)
	noError(t, p.face.Observe(p.cluster, out))
	return sent
}

func (p *placed) carry(t *testing.T, seen *envs.Observation, act *envs.Action) any {
	start, err := p.face.Start(p.cluster, seen, act)
	noError(t, err)
	if !start.Wait && (start.Node != int(act.Kinds[0][2]) || start.Resources.CPU < 1) {
		t.Fatalf("%v is %+v", act.Kinds[0], start)
	}
	return start
}

// The page on what a platform measures names every key.
func TestPlatformPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "platform.md"))
	noError(t, err)
	var look func(v reflect.Type)
	look = func(v reflect.Type) {
		for v.Kind() == reflect.Slice || v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return
		}
		for i := range v.NumField() {
			f := v.Field(i)
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if key == "" && !f.Anonymous {
				t.Errorf("%v.%s has no key", v, f.Name)
			}
			if key != "" && !regexp.MustCompile("[`.]"+key+"(`|\\[\\])").Match(page) {
				t.Errorf("docs/platform.md does not name %s of %v", key, v)
			}
			look(f.Type)
		}
	}
	for _, v := range []any{sizing.Meters{}, sizing.Settings{}, pricing.Meters{}, pricing.SlotMeters{}, placement.Cluster{}} {
		look(reflect.TypeOf(v))
	}
}

// newPlatform makes the platform of an environment, with an observer from the bundle's environment section.
func newPlatform(t *testing.T, env envs.Env, p *policy.Policy) platform {
	t.Helper()
	in := p.Bundle().Environment
	switch e := env.(type) {
	case *pricing.Pricing:
		o, err := pricing.OpenObserver(in.Config)
		noError(t, err)
		return &priced{e, o}
	case *placement.Env:
		o, err := placement.OpenObserver(in.Config, in.Workload)
		noError(t, err)
		return &placed{e, o, nil}
	}
	o, err := sizing.OpenObserver(in.ID, in.Config, in.Workload)
	noError(t, err)
	if m, ok := env.(*sizing.Many); ok {
		return &sized{m.Workflows(), o}
	}
	return &sized{[]*sizing.Env{env.(*sizing.Env)}, o}
}

// On a platform a policy sees and decides what it sees and decides in the simulator, bit for bit: the observer is made
// from the bundle alone, and all measurements pass through JSON. DecideMeasured does both, and says what is done.
func TestPlatform(t *testing.T) {
	for _, name := range policytest.Names() {
		f := policytest.Zoo(t, name, 30)
		p := served(t, f, policy.Options{})
		env := policytest.World(t, f)
		there := newPlatform(t, env, p)
		seen, act := p.NewObservation(), p.NewAction()
		steps := 0
		policytest.Play(t, env, p, 30, func(_ int, obs *envs.Observation, want *envs.Action) {
			sent := there.observe(t, seen)
			if d := decide(t, p, seen, act); d.By != policy.ByPolicy {
				t.Fatalf("%s: %v", name, d)
			}
			if !slices.Equal(seen.Kinds[0].Values, obs.Kinds[0].Values) || !slices.Equal(act.Kinds[0], want.Kinds[0]) {
				t.Fatalf("%s, step %d: the platform decides %v, want %v", name, steps, act.Kinds[0], want.Kinds[0])
			}
			d, done, err := p.DecideMeasured(t.Context(), sent, policy.Request{Sequence: "measured"})
			noError(t, err)
			if got, want := marshal(t, done), marshal(t, there.carry(t, seen, act)); d.By != policy.ByPolicy ||
				!bytes.Equal(got, want) {
				t.Fatalf("%s, step %d: by %v is done %s, want %s", name, steps, d, got, want)
			}
			steps++
		})
		if steps != 30 {
			t.Errorf("%s: %d steps", name, steps)
		}
	}
}

// Schedulers of slots decide on measurements too. What is wrong with the JSON is the caller's, and named; policies of
// environments without an observer say so.
func TestDecideMeasured(t *testing.T) {
	p := served(t, policytest.Zoo(t, "hops-scheduler", 10), policy.Options{})
	tiers, functions := len(pricing.Default().Tiers), p.Spec().Kinds[0].Agents
	meters := pricing.NewSlotMeters(tiers, functions)
	for i := range meters.Tiers {
		meters.Tiers[i] = pricing.TierPrice{Price: 1.4, KeepAlive: 10}
	}
	_, done, err := p.DecideMeasured(t.Context(), marshal(t, meters), policy.Request{})
	noError(t, err)
	if switches, ok := done.([]pricing.Switches); !ok || len(switches) != functions {
		t.Errorf("done is %+v, want the switches of %d functions", done, functions)
	}
	for text, want := range map[string]string{
		`{"slots": 1}`: `unknown field "slots"`, `{"slot": 1`: "not the JSON", `{}`: "slot is missing", ``: "is empty",
	} {
		if _, _, err := p.DecideMeasured(t.Context(), []byte(text), policy.Request{}); !errors.Is(err, policy.ErrInput) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
	f := policytest.Zoo(t, "hops-scheduler", 4)
	f.Environment.Config = []byte(strings.Replace(string(f.Environment.Config), `"service":"profile"`, `"service":"measured"`, 1))
	p = served(t, f, policy.Options{})
	if _, _, err := p.DecideMeasured(t.Context(), marshal(t, meters), policy.Request{}); !errors.Is(err, policy.ErrNoFace) ||
		!strings.Contains(err.Error(), "work.service") {
		t.Errorf("error %v, want %v, since service times are in files", err, policy.ErrNoFace)
	}
}
