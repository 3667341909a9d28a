package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/stoker-rl/stoker/bounds"
)

// Kinds of workload, as [Config.Kind] names them.
const (
	Azure2019  = "azure2019"
	Poisson    = "poisson"
	Bursty     = "bursty"
	Periodic   = "periodic"
	Calibrated = "calibrated"
	ClosedLoop = "closed-loop"
)

// Streams, as [Config.Streams] names them.
const (
	StreamsTotal    = "total"
	StreamsFunction = "function"
)

// Config describes the load on an environment.
type Config struct {
	// Kind is azure2019 (the trace itself), calibrated (drawn from a fit to the trace), poisson, bursty, periodic
	// or closed-loop.
	Kind string `yaml:"kind" json:"kind" oneof:"azure2019|calibrated|poisson|bursty|periodic|closed-loop"`
	// Path is a folder in the trace publisher's format, for azure2019 and calibrated: the original files
	// (invocations_per_function_md.anon.dNN.csv and their companions) or In-Vitro's samples (N_inv.csv, N_run.csv,
	// N_mem.csv), or a file with the columns timestamp, function, count. Empty means the embedded 50-function sample.
	Path string `yaml:"path" json:"path"`
	// Sample is the N of In-Vitro's files, needed where the folder holds several. 0 means the only one.
	Sample int `yaml:"sample" json:"sample" range:"[0,]"`
	// Days selects days of the original files, 1 to 14, joined in this order. Empty means all that are there.
	Days []int `yaml:"days" json:"days" range:"[1,99]"`
	// Functions selects functions of the trace.
	Functions Filter `yaml:"functions" json:"functions"`
	// Streams is total (all functions' invocations as one stream) or function (one stream per function).
	Streams string `yaml:"streams" json:"streams" oneof:"total|function"`
	// Minutes cuts the trace, before the split: from inclusive, to exclusive, counted from 0. Zero for both means all.
	Minutes Range `yaml:"minutes" json:"minutes"`
	// Split is all, train (the first part of the minutes) or test (the rest). Calibrated fits the selected part. Kinds
	// without a trace ignore Split: their train and test loads differ by the seeds alone.
	Split string `yaml:"split" json:"split" oneof:"all|train|test"`
	// TrainFraction is the share of the minutes that train has, in (0, 1).
	TrainFraction float64 `yaml:"train_fraction" json:"train_fraction" range:"(0,1)"`
	// Factor multiplies the trace's invocations per minute, and Rate; auto brings the workload to TargetUtilisation. It
	// has no effect on closed-loop.
	Factor Factor `yaml:"factor" json:"factor"`
	// Mean, where above 0, is the mean arrivals per second to which the workload is scaled, in place of a factor. It is
	// that of all minutes before the split: training and evaluation have one factor.
	Mean float64 `yaml:"mean" json:"mean" range:"[0,]"`
	// TargetUtilisation is the mean arrivals per second, over what the environment's action ranges serve, that factor
	// auto makes; of all minutes before the split, as Mean.
	TargetUtilisation float64 `yaml:"target_utilisation" json:"target_utilisation" range:"(0,10]"`
	// Placement says where in a minute a trace's invocations fall: exponential (anywhere, independently: the gaps of a
	// Poisson process), uniform (one anywhere in each of n equal parts) or even (equal gaps).
	Placement string `yaml:"placement" json:"placement" oneof:"exponential|uniform|even"`
	// Smooth is the width in minutes of the moving average that calibrated takes as the rate profile.
	Smooth int `yaml:"smooth" json:"smooth" range:"[1,1440]"`
	// Rate is the mean arrivals per second of poisson and periodic, and of bursty outside bursts.
	Rate float64 `yaml:"rate" json:"rate" range:"(0,]"`
	// Length is the duration in minutes of poisson, bursty, periodic and calibrated, at most a century.
	Length int `yaml:"length" json:"length" range:"[1,52704000]"`
	// Burst shapes bursty.
	Burst Burst `yaml:"burst" json:"burst"`
	// Wave shapes periodic.
	Wave Wave `yaml:"wave" json:"wave"`
	// Users are the users of closed-loop.
	Users UsersConfig `yaml:"users" json:"users"`
	// Draw lets every episode draw its load, by its seed.
	Draw Draw `yaml:"draw,omitempty" json:"draw,omitzero"`
}

// Draw says what an episode draws of its load: a factor, a trace, or both. The seed alone decides, so that all policies
// face the same load under a seed. With closed-loop users there is nothing to draw here.
type Draw struct {
	// Factor is a range, low and high, from which each episode draws a factor on the load, log-uniformly: half of the
	// draws from 0.5 to 2 are below 1. It multiplies workload.factor, or the mean. Empty means that none is drawn.
	Factor []float64 `yaml:"factor,omitempty" json:"factor,omitempty" range:"(0,1e6]"`
	// Traces are the loads of which each episode draws one, each as likely. They take the place of the section's own kind
	// and trace, which must be listed to be among them. With workload.mean all have that mean. Empty means that none is
	// drawn.
	Traces []Drawable `yaml:"traces,omitempty" json:"traces,omitempty"`
}

// Drawable is one of the loads that an episode can draw. All that is not said here is as in the section around it, such
// as split, factor, mean, rate and length.
type Drawable struct {
	// Kind is as in the section, without closed-loop.
	Kind string `yaml:"kind" json:"kind" oneof:"azure2019|calibrated|poisson|bursty|periodic"`
	// Path, Sample, Days, Functions and Minutes say which trace, as in the section; what is left out has the default.
	Path      string `yaml:"path,omitempty" json:"path,omitempty"`
	Sample    int    `yaml:"sample,omitempty" json:"sample,omitempty" range:"[0,]"`
	Days      []int  `yaml:"days,omitempty" json:"days,omitempty" range:"[1,99]"`
	Functions Filter `yaml:"functions,omitempty" json:"functions,omitzero"`
	Minutes   Range  `yaml:"minutes,omitempty" json:"minutes,omitzero"`
	// Burst shapes bursty. What is left out is as in the section.
	Burst *Burst `yaml:"burst,omitempty" json:"burst,omitempty"`
	// Wave shapes periodic. What is left out is as in the section.
	Wave *Wave `yaml:"wave,omitempty" json:"wave,omitempty"`
}

// Filter selects functions of a trace: first by name, then by trigger, then those with the most invocations.
type Filter struct {
	// Names keeps functions whose HashFunction begins with one of these. Empty keeps all.
	Names []string `yaml:"names" json:"names"`
	// Triggers keeps functions with one of these triggers (http, timer, event, queue, storage, orchestration, others).
	// In-Vitro's samples have none. Empty keeps all.
	Triggers []string `yaml:"triggers" json:"triggers"`
	// Top keeps the functions with the most invocations. 0 keeps all.
	Top int `yaml:"top" json:"top" range:"[0,]"`
}

// Range is a range of minutes, from inclusive, to exclusive.
type Range struct {
	From int `yaml:"from" json:"from" range:"[0,]"`
	To   int `yaml:"to" json:"to" range:"[0,]"`
}

// Burst shapes the two-state Markov-modulated Poisson process.
type Burst struct {
	// Factor is the rate in a burst divided by the rate outside. In real traces it is 5 to 10.
	Factor float64 `yaml:"factor" json:"factor" range:"[1,]"`
	// On is the mean length of a burst in seconds.
	On float64 `yaml:"mean_on" json:"mean_on" range:"[1,]"`
	// Off is the mean time between bursts in seconds.
	Off float64 `yaml:"mean_off" json:"mean_off" range:"[1,]"`
}

// Wave shapes the periodic process: rate * (1 + amplitude * sin(2 pi (t - phase) / period)).
type Wave struct {
	// Period in minutes; 1440 is a day.
	Period float64 `yaml:"period" json:"period" range:"(0,]"`
	// Amplitude relative to the mean rate, in [0, 1].
	Amplitude float64 `yaml:"amplitude" json:"amplitude" range:"[0,1]"`
	// Phase in minutes: when the rate first rises through its mean.
	Phase float64 `yaml:"phase" json:"phase" range:"[,]"`
}

// UsersConfig describes closed-loop users: each waits for a response before the next request.
type UsersConfig struct {
	// Count is the number of users.
	Count int `yaml:"count" json:"count" range:"[1,]"`
	// SpawnRate is the number of users that join per second, in groups of its integer part, until all have joined.
	SpawnRate float64 `yaml:"spawn_rate" json:"spawn_rate" range:"(0,]"`
	// Think is the mean think time in seconds: from a response to the user's next request.
	Think float64 `yaml:"think" json:"think" range:"[0,1e9]"`
	// ThinkLaw is constant, uniform (0 to twice the mean) or exponential.
	ThinkLaw string `yaml:"think_law" json:"think_law" oneof:"constant|uniform|exponential"`
}

// Default returns the configuration of the embedded Azure trace as one stream at its original rate.
func Default() Config {
	return Config{
		Kind: Azure2019, Streams: StreamsTotal, Split: "all", TrainFraction: 0.7, Factor: 1,
		TargetUtilisation: 0.7, Placement: Exponential, Smooth: 60, Rate: 1, Length: 1440,
		Burst: Burst{Factor: 8, On: 60, Off: 600},
		Wave:  Wave{Period: 1440, Amplitude: 0.5},
		Users: UsersConfig{Count: 10, SpawnRate: 10, ThinkLaw: Constant},
	}
}

// Factor multiplies a workload's arrivals. In files it is a number above 0, or auto.
type Factor float64

// Auto is the factor that brings the workload to [Config.TargetUtilisation] of what the environment's action ranges
// serve. [OpenFor] replaces it by a number.
const Auto Factor = -1

// auto is how files write [Auto].
const auto = "auto"

// Words are the texts that stand for a factor in files, beside numbers.
func (Factor) Words() []string { return []string{auto} }

// String returns the number, or auto.
func (f Factor) String() string {
	if f == Auto {
		return auto
	}
	return strconv.FormatFloat(float64(f), 'g', -1, 64)
}

// UnmarshalText reads a number above 0, or auto.
func (f *Factor) UnmarshalText(b []byte) error {
	if string(b) == auto {
		*f = Auto
		return nil
	}
	x, err := strconv.ParseFloat(string(b), 64)
	if err != nil || !(x > 0) || math.IsInf(x, 0) {
		return fmt.Errorf("it is %q, want a number above 0, or auto", b)
	}
	*f = Factor(x)
	return nil
}

// MarshalYAML writes a number, or auto.
func (f Factor) MarshalYAML() (any, error) {
	if f == Auto {
		return auto, nil
	}
	return float64(f), nil
}

// MarshalJSON writes a number, or "auto".
func (f Factor) MarshalJSON() ([]byte, error) {
	if f == Auto {
		return json.Marshal(auto)
	}
	return json.Marshal(float64(f))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (f *Factor) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		return f.UnmarshalText([]byte(s))
	}
	return f.UnmarshalText(b)
}

// Validate reports the first wrong field by its name and says what is expected. It opens no file. It also checks the
// fields that the kind does not use, so that a valid configuration stays valid when the kind changes.
func (c *Config) Validate() error {
	var w *bounds.Error
	if errors.As(bounds.Check(c), &w) {
		return &FieldError{w.Key, w.Text}
	}
	switch {
	case c.Factor != Auto && !(c.Factor > 0 && c.Factor <= math.MaxFloat64):
		return wrong("factor", float64(c.Factor), "more than 0, or auto")
	case c.Path == "" && c.Sample != 0 && c.Sample != embeddedSample:
		return wrong("sample", c.Sample, fmt.Sprintf("0 or %d, which is the embedded trace, or set path", embeddedSample))
	case c.Path == "" && len(c.Days) > 0:
		return wrong("days", c.Days, "none: the embedded trace has one day; set path")
	case repeats(c.Days):
		return wrong("days", c.Days, "each day once")
	case slices.Contains(c.Functions.Names, ""):
		return wrong("functions.names", c.Functions.Names, "prefixes of names, none of them empty")
	case c.Minutes != (Range{}) && c.Minutes.To <= c.Minutes.From:
		return wrong("minutes", fmt.Sprintf("%d to %d", c.Minutes.From, c.Minutes.To), "from 0 or above, to above from")
	case c.Mean > 0 && c.Kind == ClosedLoop:
		return wrong("mean", c.Mean, "0 with closed-loop users: their number and think time make the load")
	case c.Factor == Auto && c.Kind == ClosedLoop:
		return wrong("factor", c.Factor, "a number with closed-loop users: it has no effect on them")
	case c.Mean > 0 && c.Factor != 1:
		return wrong("mean", c.Mean, fmt.Sprintf("either a mean or a factor, and workload.factor is %v; set "+
			"workload.factor=1 to have the mean, workload.mean=0 to have the factor", c.Factor))
	case c.Mean*60*c.Draw.high() > maxPerMinute:
		return wrong("mean", c.Mean, fmt.Sprintf("at most %d arrivals a minute", maxPerMinute))
	case c.peak() > maxPerMinute:
		return wrong("rate", c.Rate, fmt.Sprintf("one that with factor and bursts gives at most %d arrivals a minute",
			maxPerMinute))
	}
	return c.validateDraw()
}

// embeddedSample is the sample number N of the embedded trace.
const embeddedSample = 50

// peak returns the highest mean arrivals per minute of a process without a trace.
func (c *Config) peak() float64 {
	rate := 60 * c.Rate * max(0, float64(c.Factor)) * c.Draw.high()
	switch c.Kind {
	case Bursty:
		return rate * c.Burst.Factor
	case Periodic:
		return rate * (1 + c.Wave.Amplitude)
	case Poisson:
		return rate
	}
	return 0
}

func repeats(days []int) bool {
	sorted := slices.Sorted(slices.Values(days))
	return len(slices.Compact(sorted)) < len(days)
}

// ParseError describes an error in a file: where it is, what is wrong and what is expected.
type ParseError struct {
	File string
	Line int
	// Column counts fields from 1; 0 means the whole row. Name is the column's header.
	Column int
	Name   string
	// What says what is wrong, Want what is expected.
	What, Want string
}

func (e *ParseError) Error() string {
	where := fmt.Sprintf("%s:%d", e.File, e.Line)
	if e.Line == 0 {
		where = e.File
	}
	if e.Column > 0 {
		where += fmt.Sprintf(": column %d", e.Column)
		if e.Name != "" {
			where += fmt.Sprintf(" (%s)", e.Name)
		}
	}
	return fmt.Sprintf("%s: %s, want %s", where, e.What, e.Want)
}

// FieldError names a wrong field of a [Config] and says what is expected.
type FieldError struct {
	// Field is the field's path in a configuration file, for example "burst.factor".
	Field string
	// Text says what is wrong: "is 0.5, want at least 1".
	Text string
}

func (e *FieldError) Error() string { return "workload." + e.Field + " " + e.Text }

// Unwrap returns the error as package bounds reports it, so that a caller can find the field.
func (e *FieldError) Unwrap() error { return &bounds.Error{Key: e.Field, Text: e.Text} }

// wrong returns the error of a field whose value is got.
func wrong(field string, got any, want string) *FieldError {
	if s, ok := got.(string); ok {
		return &FieldError{field, fmt.Sprintf("is %q, want %s", s, want)}
	}
	return &FieldError{field, fmt.Sprintf("is %v, want %s", got, want)}
}
