package safe

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Band is the range of prices [lb, ub] within which an application's configurations are left alone under a load.
type Band struct {
	// Application is the workflow's name.
	Application string `json:"application"`
	// Load is in the environment's unit: closed-loop users, or requests per second.
	Load float64 `json:"workload"`
	// Low and High are in the unit of the price, USD/h.
	Low  float64 `json:"lb"`
	High float64 `json:"ub"`
	// Rows is the number of feasible configurations of which it was made, Remade how often that was done again.
	Rows   int `json:"rows"`
	Remade int `json:"remade"`
}

// Bands is the content of a file of bands.
type Bands struct {
	Bands []Band `json:"bands"`
}

// Encode writes bands as JSON, in the order of applications and loads.
func (b Bands) Encode() ([]byte, error) {
	out := Bands{slices.Clone(b.Bands)}
	slices.SortFunc(out.Bands, func(x, y Band) int {
		if c := strings.Compare(x.Application, y.Application); c != 0 {
			return c
		}
		return int(math.Copysign(1, x.Load-y.Load))
	})
	text, err := json.MarshalIndent(out, "", "  ")
	return append(text, '\n'), err
}

// Decode reads what Encode wrote. name is the file's, for errors.
func Decode(name string, text []byte) (Bands, error) {
	var b Bands
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		return b, fmt.Errorf("%s: %w; want {\"bands\": [{\"application\", \"workload\", \"lb\", \"ub\", …}]}", name, err)
	}
	for i, x := range b.Bands {
		switch {
		case x.Application == "":
			return b, fmt.Errorf("%s: bands[%d].application is missing", name, i)
		case !(x.Load >= 0) || math.IsInf(x.Load, 0):
			return b, fmt.Errorf("%s: bands[%d].workload is %g, want 0 or more", name, i, x.Load)
		case !(x.Low <= x.High) || math.IsInf(x.Low, 0) || math.IsInf(x.High, 0):
			return b, fmt.Errorf("%s: bands[%d]: lb is %g and ub %g, want two numbers, the smaller first", name, i, x.Low,
				x.High)
		}
	}
	return b, nil
}

// For returns the bands of an application, none where there are none.
func (b Bands) For(application string) []Band {
	return slices.DeleteFunc(slices.Clone(b.Bands), func(x Band) bool { return x.Application != application })
}

// Of returns the bands of an application. A file that has bands of others only is an error: prices of another workflow
// say nothing. name is the file's.
func (b Bands) Of(application, name string) ([]Band, error) {
	out := b.For(application)
	if len(out) > 0 || len(b.Bands) == 0 {
		return out, nil
	}
	var others []string
	for _, x := range b.Bands {
		if !slices.Contains(others, x.Application) {
			others = append(others, x.Application)
		}
	}
	return nil, fmt.Errorf("%s: the bands are of %s, want those of %s", name, strings.Join(others, ", "), application)
}

// With returns the bands with those of an application replaced.
func (b Bands) With(application string, of []Band) Bands {
	out := slices.DeleteFunc(slices.Clone(b.Bands), func(x Band) bool { return x.Application == application })
	return Bands{append(out, of...)}
}
