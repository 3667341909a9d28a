package envs

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Loaded is an environment under a load that its policies cannot refuse, such as requests.
type Loaded interface {
	Env
	// Workload describes the load under the environment's configuration.
	Workload() Load
	// Serves is about the largest mean load that the action ranges serve, in the unit of the load; 0 where that is not
	// known. It may search for seconds.
	Serves() (float64, error)
}

// Demanding is an environment under a load whose thresholds may be beyond its action ranges.
type Demanding interface {
	Loaded
	// Unmet says in a sentence which thresholds nothing within the action ranges keeps, and by how much; empty where
	// something keeps them. It may search for seconds.
	Unmet() (string, error)
}

// Load describes the load of an environment over its whole workload.
type Load struct {
	// Unit is that of all rates, such as requests/s.
	Unit string `json:"unit"`
	// Mean is the mean rate. Low, High and Peak are the 5th and the 95th percentile and the largest of the expected rates
	// of the workload's parts, each Part long.
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	Peak float64 `json:"peak"`
	Part string  `json:"part"`
	// Least and Most are the smallest and the largest mean rate of an episode where each draws its load; else both are
	// Mean.
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
	// Drawn are the loads of which each episode draws one, where it draws its load.
	Drawn []DrawnLoad `json:"drawn,omitempty"`
	// Key is the configuration's key that scales the load in proportion, Value its value.
	Key   string  `json:"key"`
	Value float64 `json:"value"`
	// Slack is how many times what is served in a steady state an episode leaves time for: 1, or more where arrivals end
	// before the episode does.
	Slack float64 `json:"slack"`
	// Missing names files and days that the workload's data lacks.
	Missing []string `json:"missing,omitempty"`
	// Rates are the expected rates of all parts.
	Rates []float64 `json:"-"`
}

// DrawnLoad is a load that episodes can draw.
type DrawnLoad struct {
	// Name says what it is: azure2019 (embedded), poisson.
	Name string `json:"name"`
	// Factor multiplies its arrivals as they are in its data or configuration, before the factor that an episode draws:
	// the one that is configured, or that follows from a mean.
	Factor float64 `json:"factor"`
}

// NewLoad describes a load by the expected rates of its parts.
func NewLoad(unit, part string, rates []float64, key string, value float64) Load {
	l := Load{Unit: unit, Part: part, Key: key, Value: value, Slack: 1, Rates: rates}
	if len(rates) == 0 {
		return l
	}
	sorted := slices.Sorted(slices.Values(rates))
	for _, x := range rates {
		l.Mean += x / float64(len(rates))
	}
	at := func(p float64) float64 { return sorted[int(math.Round(p*float64(len(sorted)-1)))] }
	l.Low, l.High, l.Peak = at(0.05), at(0.95), sorted[len(sorted)-1]
	l.Least, l.Most = l.Mean, l.Mean
	return l
}

// Above is the share of the parts whose rate is above a given one.
func (l *Load) Above(rate float64) float64 {
	n := 0
	for _, x := range l.Rates {
		if x > rate {
			n++
		}
	}
	return float64(n) / float64(max(1, len(l.Rates)))
}

// String describes the load in a few words: 1.25 requests/s (0.11 to 4.02 in 90 % of the minutes).
func (l *Load) String() string {
	out := short(l.Mean) + " " + l.Unit
	switch {
	case l.Least != l.Most:
		out += fmt.Sprintf(" (%s to %s, drawn for each episode)", short(l.Least), short(l.Most))
	case l.Low != l.High:
		out += fmt.Sprintf(" (%s to %s in 90 %% of the %ss)", short(l.Low), short(l.High), l.Part)
	}
	return out
}

// TrainedLoad is the load on which a policy was trained.
type TrainedLoad struct {
	Policy string `json:"policy"`
	Load
}

// LoadReport is what there is to say of a load.
type LoadReport struct {
	// Load is the present one.
	Load Load `json:"load"`
	// Serves is about the largest mean load that the action ranges serve, 0 where it is not known. Utilisation is the mean
	// load over it, Above the share of the load's parts that are above it.
	Serves      float64 `json:"serves,omitempty"`
	Utilisation float64 `json:"utilisation,omitempty"`
	Above       float64 `json:"above,omitempty"`
	// AtMost is the value of Load.Key at which the mean load is what is served.
	AtMost float64 `json:"at_most,omitempty"`
	// Unmet says which thresholds nothing within the action ranges keeps; empty where something does.
	Unmet string `json:"unmet,omitempty"`
	// Trained are the loads on which policies were trained, as far as they are known.
	Trained []TrainedLoad `json:"trained,omitempty"`
	// Warnings say in sentences what is wrong with the load; none where nothing is.
	Warnings []string `json:"warnings"`
}

// foreign is the ratio of mean loads from which on a load is not the one trained on: above it, or below its inverse.
const foreign = 1.5

// ReportLoad describes an environment's load, and warns where it is heavier than the ranges serve, or is not that on
// which policies were trained. It returns nil for an environment that has no load.
func ReportLoad(e Env, trained []TrainedLoad) (*LoadReport, error) {
	loaded, ok := As[Loaded](e)
	if !ok {
		return nil, nil //nolint:nilnil // there is nothing to say, and nothing is wrong
	}
	r := &LoadReport{Load: loaded.Workload(), Trained: trained, Warnings: []string{}}
	l := &r.Load
	if len(l.Missing) > 0 {
		r.warn("the trace lacks %s", list(l.Missing))
	}
	var err error
	if r.Serves, err = loaded.Serves(); err != nil {
		return nil, fmt.Errorf("the load that %s serves: %w", e.Spec().ID, err)
	}
	if r.Serves > 0 && l.Mean > 0 {
		r.Utilisation, r.Above = l.Mean/r.Serves, l.Above(r.Serves)
		r.AtMost = floor(l.Value * l.Slack / r.Utilisation)
		if r.Overloaded() {
			r.warn("the load is heavier than anything within the action ranges serves: %s", r.Bound())
		}
	}
	if d, ok := As[Demanding](e); ok && r.Serves == 0 {
		if r.Unmet, err = d.Unmet(); err != nil {
			return nil, fmt.Errorf("the thresholds of %s: %w", e.Spec().ID, err)
		}
		if r.Unmet != "" {
			r.warn("%s", r.Unmet)
		}
	}
	for _, t := range together(trained) {
		r.compare(&t)
	}
	return r, nil
}

// together joins the names of policies that were trained on the same load.
func together(trained []TrainedLoad) []TrainedLoad {
	var out []TrainedLoad
	var names [][]string
	for _, t := range trained {
		i := slices.IndexFunc(out, func(o TrainedLoad) bool {
			return o.Unit == t.Unit && o.Mean == t.Mean && o.Least == t.Least && o.Most == t.Most && o.Low == t.Low && o.High == t.High
		})
		if i < 0 {
			i = len(out)
			out, names = append(out, t), append(names, nil)
		}
		names[i] = append(names[i], t.Policy)
		out[i].Policy = list(names[i])
	}
	return out
}

// Overloaded reports whether the load is heavier than what is served.
func (r *LoadReport) Overloaded() bool { return r.Utilisation > r.Load.Slack }

// Bound says in numbers what the load is, what is served, and which value of which key makes the one the other.
func (r *LoadReport) Bound() string {
	l := &r.Load
	return fmt.Sprintf("the workload has %s, the ranges serve about %s (utilisation %s%s); %s at most %s, now %s", l,
		short(r.Serves*l.Slack), short(r.Utilisation/l.Slack), r.above(), l.Key, short(r.AtMost), short(l.Value))
}

func (r *LoadReport) warn(format string, a ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, a...))
}

// above says how much of the load is above what is served.
func (r *LoadReport) above() string {
	if r.Above == 0 || r.Load.Slack > 1 {
		return ""
	}
	return fmt.Sprintf(", %.0f %% of the %ss above that", 100*r.Above, r.Load.Part)
}

// compare warns where a policy was trained on another load.
func (r *LoadReport) compare(t *TrainedLoad) {
	l := &r.Load
	if t.Unit != l.Unit || t.Mean == 0 || l.Mean == 0 {
		return
	}
	var how string
	var like float64 // the nearest mean trained on
	switch {
	case l.Mean > foreign*t.Most:
		like = t.Most
		how = short(l.Mean/like) + " times"
	case l.Mean < t.Least/foreign:
		like = t.Least
		how = short(100*l.Mean/like) + " % of"
	default:
		return
	}
	served := ""
	if r.Serves > 0 && !r.Overloaded() {
		served = fmt.Sprintf("; the ranges serve about %s, %s at most %s", short(r.Serves*l.Slack), l.Key, short(r.AtMost))
	}
	r.warn("%s learned on %s, and this load has %s, %s that: scores say how that carries over, not how well it was "+
		"learned; %s=%s gives the load trained on%s", t.Policy, &t.Load, l, how, l.Key, short(l.Value*like/l.Mean), served)
}

// list joins the first names of a list.
func list(names []string) string {
	const most = 4
	out := ""
	for i, n := range names[:min(most, len(names))] {
		if i > 0 {
			out += ", "
		}
		out += n
	}
	if n := len(names) - most; n > 0 {
		out += fmt.Sprintf(" and %d more", n)
	}
	return out
}

// short writes a number with three digits.
func short(x float64) string {
	if x >= 1000 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// floor rounds down to three digits: what is at most x must not be above it.
func floor(x float64) float64 {
	if x == 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-2)
	y, err := strconv.ParseFloat(short(math.Floor(x/unit)*unit), 64)
	if err != nil {
		return x
	}
	return y
}
