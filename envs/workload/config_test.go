package workload

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

func TestValidate(t *testing.T) {
	c := Default()
	if err := c.Validate(); err != nil {
		t.Fatalf("the default is refused: %v", err)
	}
	for field, changes := range map[string][]func(*Config){
		"kind":   {func(c *Config) { c.Kind = "" }, func(c *Config) { c.Kind = "azure2021" }},
		"sample": {func(c *Config) { c.Sample = -1 }, func(c *Config) { c.Sample = 100 }},
		"days": {func(c *Config) { c.Days = []int{1} }, func(c *Config) { c.Path, c.Days = "x", []int{0} },
			func(c *Config) { c.Path, c.Days = "x", []int{2, 1, 2} }},
		"functions.top":   {func(c *Config) { c.Functions.Top = -1 }},
		"functions.names": {func(c *Config) { c.Functions.Names = []string{"a", ""} }},
		"streams":         {func(c *Config) { c.Streams = "all" }},
		"minutes.from":    {func(c *Config) { c.Minutes = Range{-1, 4} }},
		"minutes":         {func(c *Config) { c.Minutes = Range{4, 4} }},
		"split":           {func(c *Config) { c.Split = "validation" }},
		"train_fraction": {func(c *Config) { c.TrainFraction = 0 }, func(c *Config) { c.TrainFraction = 1 },
			func(c *Config) { c.TrainFraction = math.NaN() }},
		"factor": {func(c *Config) { c.Factor = 0 }, func(c *Config) { c.Factor = -2 },
			func(c *Config) { c.Factor = Factor(math.NaN()) }, func(c *Config) { c.Factor = Factor(math.Inf(1)) }},
		"placement": {func(c *Config) { c.Placement = "" }},
		"smooth":    {func(c *Config) { c.Smooth = 0 }, func(c *Config) { c.Smooth = 1441 }},
		"rate": {func(c *Config) { c.Rate = 0 }, func(c *Config) { c.Kind, c.Rate = Poisson, 1e6 },
			func(c *Config) { c.Kind, c.Rate, c.Factor = Bursty, 1000, 100 }},
		"length":           {func(c *Config) { c.Length = 0 }, func(c *Config) { c.Length = 1 << 30 }},
		"burst.factor":     {func(c *Config) { c.Burst.Factor = 0.5 }, func(c *Config) { c.Burst.Factor = math.NaN() }},
		"burst.mean_on":    {func(c *Config) { c.Burst.On = 0.5 }},
		"burst.mean_off":   {func(c *Config) { c.Burst.Off = math.Inf(1) }},
		"wave.period":      {func(c *Config) { c.Wave.Period = 0 }},
		"wave.amplitude":   {func(c *Config) { c.Wave.Amplitude = 1.5 }, func(c *Config) { c.Wave.Amplitude = math.NaN() }},
		"wave.phase":       {func(c *Config) { c.Wave.Phase = math.Inf(-1) }},
		"users.count":      {func(c *Config) { c.Users.Count = 0 }},
		"users.spawn_rate": {func(c *Config) { c.Users.SpawnRate = 0 }},
		"users.think":      {func(c *Config) { c.Users.Think = -1 }, func(c *Config) { c.Users.Think = math.NaN() }},
		"users.think_law":  {func(c *Config) { c.Users.ThinkLaw = "normal" }},
	} {
		for i, change := range changes {
			c := Default()
			change(&c)
			err := c.Validate()
			var fe *FieldError
			if !errors.As(err, &fe) || strings.Split(fe.Field, "[")[0] != field ||
				!strings.HasPrefix(err.Error(), "workload."+fe.Field+" is ") || !strings.Contains(err.Error(), ", want ") {
				t.Errorf("%s, case %d: the error is %v", field, i, err)
			}
			if _, err := Open(c); err == nil {
				t.Errorf("%s, case %d: it was opened", field, i)
			}
		}
	}
}

// Every field can be written: the tags that configuration files use are all there and differ.
func TestTags(t *testing.T) {
	var walk func(reflect.Type)
	walk = func(ty reflect.Type) {
		seen := map[string]bool{}
		for i := range ty.NumField() {
			f := ty.Field(i)
			tag, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			written, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if tag == "" || tag != written || seen[tag] {
				t.Errorf("%s.%s has the tag %q", ty.Name(), f.Name, f.Tag)
			}
			seen[tag] = true
			if f.Type.Kind() == reflect.Struct {
				walk(f.Type)
			}
		}
	}
	walk(reflect.TypeFor[Config]())
	b := must.Get(json.Marshal(Default()))(t)
	var back Config
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, Default()) {
		t.Errorf("the default came back as %+v (%v)", back, err)
	}
}

func TestOpen(t *testing.T) {
	s := configured(t, func(c *Config) {})
	if s.Streams() != 1 || s.Minutes() != 1440 || s.Trace().Total() != 179342 || s.Closed() {
		t.Errorf("the default has %d streams, %d minutes, %d invocations", s.Streams(), s.Minutes(), s.Trace().Total())
	}
	train := configured(t, func(c *Config) { c.Split = "train" })
	test := configured(t, func(c *Config) { c.Split = "test" })
	if train.Minutes() != 1008 || test.Minutes() != 432 || train.Trace().Total()+test.Trace().Total() != 179342 {
		t.Errorf("train has %d minutes and test %d", train.Minutes(), test.Minutes())
	}
	cut := configured(t, func(c *Config) { c.Minutes, c.Split = Range{100, 200}, "test" })
	if cut.Minutes() != 30 || cut.Trace().PerMinute(nil)[0] != s.Trace().PerMinute(nil)[170] {
		t.Errorf("a cut and split trace has %d minutes", cut.Minutes())
	}
	top := configured(t, func(c *Config) { c.Functions.Top, c.Streams = 3, StreamsFunction })
	if top.Streams() != 3 || top.Trace().Functions[0].Duration.Samples == 0 {
		t.Errorf("the top 3 are %d", top.Streams())
	}
	for name, change := range map[string]func(*Config){
		"workload.minutes":   func(c *Config) { c.Minutes = Range{0, 1441} },
		"workload.factor":    func(c *Config) { c.Factor = 1e6 },
		"workload.path":      func(c *Config) { c.Path = filepath.Join(t.TempDir(), "none") },
		"workload.functions": func(c *Config) { c.Functions.Triggers = []string{"http"} },
	} {
		c := Default()
		change(&c)
		if _, err := Open(c); err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	// A folder that holds the same sample is the same workload but for its name.
	dir := t.TempDir()
	for _, name := range []string{"50_inv.csv.gz", "50_run.csv.gz", "50_mem.csv.gz"} {
		b := must.Get(embedded.ReadFile("data/" + name))(t)
		must.Do(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	there := configured(t, func(c *Config) { c.Path = dir })
	if !reflect.DeepEqual(drain(open(t, s, 1))[:100], drain(open(t, there, 1))[:100]) {
		t.Error("the embedded trace and its folder arrive differently")
	}
	state, _ := open(t, s, 1).AppendBinary(nil)
	if err := open(t, there, 1).UnmarshalBinary(state); err != nil {
		t.Errorf("a state of the embedded trace does not fit its folder: %v", err)
	}
}
