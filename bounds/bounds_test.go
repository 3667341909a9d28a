package bounds

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
)

type inner struct {
	SLA  int    `yaml:"sla" range:"[1,1000]"`
	Kind string `yaml:"kind" oneof:"a|b"`
}

type span struct {
	Low  int    `yaml:"low"`
	High int    `yaml:"high" range:"[1,99]"`
	Unit string `yaml:"unit"`
	Open bool   `yaml:"open"`
}

type sample struct {
	Gamma  float64   `yaml:"gamma" range:"[0,1]"`
	Tau    float64   `yaml:"tau" range:"(0,1]"`
	Part   float64   `yaml:"part" range:"(0,1)"`
	Batch  int64     `yaml:"batch" range:"[1,2^24]"`
	Steps  uint      `yaml:"steps" range:"[3,]"`
	Any    float64   `yaml:"any" range:"[,]"`
	Norm   string    `yaml:"norm" oneof:"layer|"`
	Start  []float64 `yaml:"start" range:"[-1,1]"`
	Tiers  []inner   `yaml:"tiers"`
	One    inner     `yaml:"one"`
	Span   span      `yaml:"span" range:"[1,9]"`
	Free   bool      `yaml:"free"`
	Hidden int       `yaml:"-" range:"[5,6]"`
	Plain  int       `range:"[,9)"`
}

func good() sample {
	return sample{Tau: 1, Part: 0.5, Batch: 1, Steps: 3, Start: []float64{-1, 1}, Tiers: []inner{{1, "a"}}, One: inner{1000, "b"},
		Span: span{Low: 9, High: 99}}
}

func TestCheck(t *testing.T) {
	s := good()
	if err := Check(&s); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(*sample)
		key    string
		want   string
	}{
		{func(s *sample) { s.Gamma = 1.5 }, "gamma", "gamma is 1.5, want 0 to 1"},
		{func(s *sample) { s.Gamma = math.NaN() }, "gamma", "gamma is NaN, want 0 to 1"},
		{func(s *sample) { s.Tau = 0 }, "tau", "tau is 0, want more than 0 and at most 1"},
		{func(s *sample) { s.Part = 1 }, "part", "part is 1, want more than 0 and less than 1"},
		{func(s *sample) { s.Batch = 1<<24 + 1 }, "batch", "batch is 16777217, want 1 to 16777216"},
		{func(s *sample) { s.Steps = 2 }, "steps", "steps is 2, want at least 3"},
		{func(s *sample) { s.Any = math.Inf(1) }, "any", "any is +Inf, want a finite number"},
		{func(s *sample) { s.Norm = "batch" }, "norm", `norm is "batch", want one of layer, ""`},
		{func(s *sample) { s.Start[1] = -2 }, "start[1]", "start[1] is -2, want -1 to 1"},
		{func(s *sample) { s.Tiers[0].SLA = 0 }, "tiers[0].sla", "tiers[0].sla is 0, want 1 to 1000"},
		{func(s *sample) { s.One.Kind = "" }, "one.kind", `one.kind is "", want one of a, b`},
		{func(s *sample) { s.Span.Low = 10 }, "span.low", "span.low is 10, want 1 to 9"},
		{func(s *sample) { s.Span.High = 100 }, "span.high", "span.high is 100, want 1 to 99"},
		{func(s *sample) { s.Plain = 9 }, "plain", "plain is 9, want less than 9"},
	} {
		s := good()
		c.change(&s)
		err := Check(s)
		var e *Error
		if !errors.As(err, &e) || e.Key != c.key || err.Error() != c.want {
			t.Errorf("%v, want %q about key %s", err, c.want, c.key)
		}
	}
	s.Gamma, s.Tau = -1, -1
	if all := Wrong(&s); len(all) != 2 || all[1].Key != "tau" {
		t.Errorf("Wrong reports %v, want gamma and tau", all)
	}
}

func TestWrongTags(t *testing.T) {
	for want, config := range map[string]any{
		"want one of them": struct {
			A int `range:"[0,1]" oneof:"a"`
		}{},
		"want a string": struct {
			A int `oneof:"a"`
		}{},
		"want a number": struct {
			A string `range:"[0,1]"`
		}{},
		`range is "0..1", want an interv`: struct {
			A int `range:"0..1"`
		}{},
		`range is "[1,0]", want an inter`: struct {
			A int `range:"[1,0]"`
		}{},
		`range is "[x,1]", want an inter`: struct {
			A int `range:"[x,1]"`
		}{},
	} {
		if err := Check(config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
		if _, err := Fields(reflect.TypeOf(config)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Fields: %v, want an error with %q", err, want)
		}
	}
}

func ExampleFields() {
	fields, err := Fields(reflect.TypeFor[sample]())
	if err != nil {
		fmt.Println(err)
	}
	for _, f := range fields {
		fmt.Printf("%s %s %q\n", f.Key, f.Type, f.Rule)
	}
	// Output:
	// gamma float64 "0 to 1"
	// tau float64 "more than 0 and at most 1"
	// part float64 "more than 0 and less than 1"
	// batch int64 "1 to 16777216"
	// steps uint "at least 3"
	// any float64 "a finite number"
	// norm string "one of layer, \"\""
	// start[] float64 "-1 to 1"
	// tiers[].sla int "1 to 1000"
	// tiers[].kind string "one of a, b"
	// one.sla int "1 to 1000"
	// one.kind string "one of a, b"
	// span.low int "1 to 9"
	// span.high int "1 to 99"
	// span.unit string ""
	// span.open bool ""
	// free bool ""
	// plain int "less than 9"
}
