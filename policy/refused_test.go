package policy_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/policy/policytest"
)

// set changes one key of a JSON object.
func set(t *testing.T, text *json.RawMessage, key, value string) {
	t.Helper()
	m := map[string]json.RawMessage{}
	must.Do(t, json.Unmarshal(*text, &m))
	m[key] = json.RawMessage(value)
	b := must.Get(json.Marshal(m))(t)
	*text = b
}

func replace(text *json.RawMessage, old, now string) {
	*text = bytes.Replace(*text, []byte(old), []byte(now), 1)
}

// Bundles whose digests are right and whose content is not are refused with the place.
func TestForeignBundlesAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(t *testing.T, f *bundle.File)
	}{
		{"hops-pricer", `stoker.agent: made by agent "maddpg", which this program does not know, and its description`,
			func(_ *testing.T, f *bundle.File) { f.Agent.Description = []byte(`{"format":1}`) }},
		{"hops-pricer", "stoker.environment: trained for stoker/Pricing-v9, but this program has stoker/Pricing-v1",
			func(_ *testing.T, f *bundle.File) {
				f.Agent.Env, f.Environment.ID = "stoker/Pricing-v9", "stoker/Pricing-v9"
			}},
		{"hops-pricer", `stoker.spec: id is "stoker/Pricing-v2", but stoker.environment has`,
			func(t *testing.T, f *bundle.File) { set(t, &f.Spec, "id", `"stoker/Pricing-v2"`) }},
		{"hops-pricer", `unknown field "more"`, func(t *testing.T, f *bundle.File) { set(t, &f.Spec, "more", "1") }},
		{"hops-pricer", `unknown field "more"`, func(t *testing.T, f *bundle.File) { set(t, &f.Environment.Config, "more", "1") }},
		{"hops-pricer", `unknown field "more"`, func(t *testing.T, f *bundle.File) { set(t, &f.Agent.Description, "more", "1") }},
		{"hops-pricer", "stoker.environment: ", func(t *testing.T, f *bundle.File) { set(t, &f.Environment.Config, "vgpus", "-1") }},
		{"hops-pricer", "stoker.spec: kinds[0].action: ", func(t *testing.T, f *bundle.File) {
			set(t, &f.Environment.Config, "price_max", "77") // another range than the policy's
		}},
		{"hops-pricer", "stoker.agent: ", func(_ *testing.T, f *bundle.File) {
			for name := range f.Arrays {
				f.Arrays[name] = bundle.Array{Shape: []int{1}, Data: []float32{1}}
			}
		}},
		{"hops-pricer", `stoker.fallback: fallback "autoscaler" is not one for stoker/Pricing-v1; there are: spss`,
			func(_ *testing.T, f *bundle.File) { f.Fallback.Name = "autoscaler" }},
		{"hops-pricer", "stoker.fallback: spss: ", func(_ *testing.T, f *bundle.File) { f.Fallback.Config = []byte(`{"prices":[1]}`) }},
		{"faasconf", `stoker.fallback: autoscaler: file is "elsewhere": no file is opened`,
			func(_ *testing.T, f *bundle.File) { f.Fallback.Config = []byte(`{"file":"elsewhere"}`) }},
		{"hops-pricer", "stoker.selftest: [0]: kinds[0].action[0]: the policy gives",
			func(_ *testing.T, f *bundle.File) { f.SelfTest[0].Kinds[0].Action[0] += 0.01 }},
		{"hops-pricer", "stoker.selftest: [0]: kinds[0].values has 1 entries, want",
			func(_ *testing.T, f *bundle.File) { f.SelfTest[0].Kinds[0].Values = []float32{1} }},
		{"gnn-placement", "stoker.selftest: [0]: kinds[0].graphs[0].nodes[0] has 9999 nodes",
			func(_ *testing.T, f *bundle.File) { f.SelfTest[0].Kinds[0].Graphs[0].Nodes[0].Count = 9999 }},
		{"hops-pricer", "stoker.seen: [0].features has 1 entries, want",
			func(_ *testing.T, f *bundle.File) { f.Seen[0].Features = f.Seen[0].Features[:1] }},
		{"hops-pricer", `stoker.seen: [0]: kind "tier", part "node.x" is not in the spec`,
			func(_ *testing.T, f *bundle.File) { f.Seen[0].Kind, f.Seen[0].Part = "tier", "node.x" }},
		{"gnn-placement", "no file is opened for a bundle", func(t *testing.T, f *bundle.File) {
			set(t, &f.Environment.Config, "workload", `"tpch"`)
			set(t, &f.Environment.Config, "tpch", `{"path":"elsewhere"}`)
		}},
		{"gnn-placement", "pairs of invocation and node: 16777216, a bundle has at most 4194304", func(t *testing.T, f *bundle.File) {
			set(t, &f.Environment.Config, "window", "4096")
			set(t, &f.Environment.Config, "nodes", `[{"name":"n","count":4096,"cpu":1,"memory":1,"network":1,"speed":1}]`)
		}},
		{"gnn-placement", "functions and workflows of all: 16777222, a bundle has at most", func(t *testing.T, f *bundle.File) {
			set(t, &f.Environment.Config, "classes", `[{"name":"c","functions":1000000000000}]`)
		}},
		{"hops-pricer", "functions of all: 16777217, a bundle has at most", func(t *testing.T, f *bundle.File) {
			set(t, &f.Environment.Config, "tiers", `[{"functions":1000000000000},{"functions":1}]`)
		}},
		{"faasconf", "workflows: 257, a bundle has at most 256", func(t *testing.T, f *bundle.File) {
			set(t, &f.Environment.Config, "workflows", `["parallel"`+strings.Repeat(`,"parallel"`, 256)+"]")
		}},
		// A layer of 15,000,000 numbers for 6 agents: a few bytes that ask for 400 MB a worker.
		{"faasconf", "numbers in one pass, want at most", func(_ *testing.T, f *bundle.File) {
			replace(&f.Agent.Description, `"hidden":[128,128]`, `"hidden":[15000000,1]`)
		}},
	} {
		f := policytest.Zoo(t, c.name, 4)
		c.change(t, f)
		if _, err := policy.OpenBytes(policytest.Encode(t, f), policy.Options{}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

// A digest that differs, and a limit, are the caller's; the error names the file.
func TestDigestAndLimit(t *testing.T) {
	b := policytest.Encode(t, policytest.Zoo(t, "hops-pricer", 4))
	file := filepath.Join(t.TempDir(), "pricer"+bundle.Extension)
	must.Do(t, os.WriteFile(file, b, 0o600))
	if _, err := policy.Open(file, policy.Options{Digest: "sha256:" + bundle.Digest(b)}); err != nil {
		t.Error(err)
	}
	for want, o := range map[string]policy.Options{
		"its digest is sha256:":                  {Digest: strings.Repeat("a", 64)},
		"want at most 100":                       {MaxBytes: 100},
		"Workers, Sequences, MaxAge and Idle mu": {Workers: -1},
		`kernels are "fast", want one of those`:  {Kernels: "fast"},
	} {
		if _, err := policy.Open(file, o); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), file) {
			t.Errorf("error %v, want one with %q and the file", err, want)
		}
	}
}

// Every byte of a real bundle matters. Package bundle's test flips each byte of a small one; here it is each of the
// header, and every 23rd of the weights.
func TestDamagedBundle(t *testing.T) {
	b := policytest.Encode(t, policytest.Zoo(t, "hops-pricer", 1))
	header := 8 + int(binary.LittleEndian.Uint64(b))
	for i := range b {
		if i > header && i%23 != 0 {
			continue
		}
		b[i] ^= 0x10
		if _, err := policy.OpenBytes(b, policy.Options{}); err == nil {
			t.Fatalf("byte %d flipped: the bundle was opened", i)
		}
		b[i] ^= 0x10
		if i%7 == 0 {
			if _, err := policy.OpenBytes(b[:i], policy.Options{}); err == nil {
				t.Fatalf("%d of %d bytes: the bundle was opened", i, len(b))
			}
		}
	}
	if _, err := policy.OpenBytes(b, policy.Options{}); err != nil {
		t.Error(err)
	}
}

// A program's own agent and environment are served by rows of its own; without a row dependent masks are refused.
func TestOwnRows(t *testing.T) {
	f := policytest.Zoo(t, "hops-pricer", 4)
	f.Agent.Name, f.Fallback = "mine", nil
	for _, to := range []*string{&f.Agent.Env, &f.Environment.ID} {
		*to = "mine/World-v1"
	}
	set(t, &f.Spec, "id", `"mine/World-v1"`)
	mine := policy.Agent{Name: "mine", Open: actor.Open}
	p := must.Get(policy.OpenBytes(policytest.Encode(t, f), policy.Options{Agents: []policy.Agent{mine}}))(t)
	if d := decide(t, p, shown(t, p, 0), p.NewAction()); d.By != policy.ByPolicy {
		t.Errorf("%v", d)
	}
	f = policytest.Zoo(t, "gnn-placement", 4)
	f.Fallback, f.Agent.Env, f.Environment.ID = nil, "mine/World-v1", "mine/World-v1"
	set(t, &f.Spec, "id", `"mine/World-v1"`)
	if _, err := policy.OpenBytes(policytest.Encode(t, f), policy.Options{}); err == nil ||
		!strings.Contains(err.Error(), "kinds[0].dependent: legal choices of mine/World-v1 depend on choices before them") {
		t.Errorf("dependent masks of an unknown environment: %v", err)
	}
}
