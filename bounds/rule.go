package bounds

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Rule is what a value may be: one of some words, or a number in an interval. The zero value allows everything.
type Rule struct {
	// Words are the texts that are allowed.
	Words []string
	// Range is set where a number must lie in the interval from Low to High. An end that is not part of the interval is
	// open. An infinite end means that there is none.
	Range             bool
	Low, High         float64
	OpenLow, OpenHigh bool
}

// RuleOf reads the rule of a struct's field from its tags. A tag that cannot be read, or that does not suit the field's
// type, is an error.
func RuleOf(f reflect.StructField) (Rule, error) {
	words, isWords := f.Tag.Lookup("oneof")
	interval, isRange := f.Tag.Lookup("range")
	if !isWords && !isRange {
		return Rule{}, nil
	}
	t := f.Type
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case isWords && isRange:
		return Rule{}, fmt.Errorf("field %s has the tags oneof and range, want one of them", f.Name)
	case isWords && t.Kind() != reflect.String:
		return Rule{}, fmt.Errorf("field %s has the tag oneof and is of type %s, want a string", f.Name, f.Type)
	case isWords:
		return Rule{Words: strings.Split(words, "|")}, nil
	case !numeric(t.Kind()) && t.Kind() != reflect.Struct:
		return Rule{}, fmt.Errorf("field %s has the tag range and is of type %s, want a number", f.Name, f.Type)
	}
	r, err := parseRange(interval)
	if err != nil {
		return Rule{}, fmt.Errorf("field %s: %w", f.Name, err)
	}
	return r, nil
}

// or is the rule of a field within a struct whose own rule is outer: a range there holds for the numbers without a
// rule.
func (r Rule) or(outer Rule) Rule {
	if r.Range || len(r.Words) > 0 {
		return r
	}
	return outer
}

func numeric(k reflect.Kind) bool {
	return k >= reflect.Int && k <= reflect.Float64 && k != reflect.Uintptr
}

// parseRange reads an interval such as [0,1], (0,1] or [1,].
func parseRange(s string) (Rule, error) {
	wrong := fmt.Errorf("range is %q, want an interval such as [0,1], (0,1] or [1,]", s)
	if len(s) < 3 || !strings.ContainsRune("[(", rune(s[0])) || !strings.ContainsRune("])", rune(s[len(s)-1])) {
		return Rule{}, wrong
	}
	low, high, ok := strings.Cut(s[1:len(s)-1], ",")
	r := Rule{Range: true, Low: math.Inf(-1), High: math.Inf(1), OpenLow: s[0] == '(', OpenHigh: s[len(s)-1] == ')'}
	if !ok || !parseEnd(low, &r.Low) || !parseEnd(high, &r.High) || r.Low > r.High {
		return Rule{}, wrong
	}
	return r, nil
}

// parseEnd reads a number or a power such as 2^20 into x; nothing leaves x as it is.
func parseEnd(s string, x *float64) bool {
	s = strings.TrimSpace(s)
	if s == "" {
		return true
	}
	if base, exponent, ok := strings.Cut(s, "^"); ok {
		b, err := strconv.Atoi(base)
		e, err2 := strconv.Atoi(exponent)
		*x = math.Pow(float64(b), float64(e))
		return err == nil && err2 == nil
	}
	var err error
	*x, err = strconv.ParseFloat(s, 64)
	return err == nil && !math.IsNaN(*x)
}

// String says what is allowed: "0 to 1", "more than 0 and at most 1", "one of relu, tanh". It is empty where everything
// is.
func (r Rule) String() string {
	switch {
	case len(r.Words) > 0:
		words := slices.Clone(r.Words)
		for i, w := range words {
			if w == "" {
				words[i] = `""`
			}
		}
		return "one of " + strings.Join(words, ", ")
	case !r.Range:
		return ""
	}
	closed := !r.OpenLow && !r.OpenHigh
	low, high := "at least "+number(r.Low), "at most "+number(r.High)
	if r.OpenLow {
		low = "more than " + number(r.Low)
	}
	if r.OpenHigh {
		high = "less than " + number(r.High)
	}
	switch {
	case math.IsInf(r.Low, -1) && math.IsInf(r.High, 1):
		return "a finite number"
	case math.IsInf(r.High, 1):
		return low
	case math.IsInf(r.Low, -1):
		return high
	case closed:
		return number(r.Low) + " to " + number(r.High)
	}
	return low + " and " + high
}

// number writes whole numbers of up to twelve digits in full, and others as short as can be.
func number(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e12 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// holds reports whether a number is allowed; NaN and infinities are not.
func (r Rule) holds(x float64) bool {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return false
	case r.OpenLow && x <= r.Low, r.OpenHigh && x >= r.High:
		return false
	}
	return x >= r.Low && x <= r.High
}
