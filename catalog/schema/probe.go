package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// prober finds out what a configuration's Validate accepts, by asking.
type prober struct {
	config   reflect.Value
	validate func() error
	fields   []field
}

// field is a key whose value is a number, a text, a bool, or a list of numbers.
type field struct {
	key   string
	index []int
	list  bool
}

func newProber(config any) (*prober, error) {
	p := &prober{config: reflect.ValueOf(config).Elem(), validate: func() error { return nil }}
	if v, ok := config.(interface{ Validate() error }); ok {
		p.validate = v.Validate
	}
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("the default is wrong: %w", err)
	}
	p.collect(p.config.Type(), "", nil)
	return p, nil
}

func (p *prober) collect(t reflect.Type, path string, index []int) {
	for f := range t.Fields() {
		name, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		at := append(slices.Clone(index), f.Index...)
		switch {
		case !f.IsExported() || name == "-":
		case strings.Contains(opts, "inline"):
			p.collect(f.Type, path, at)
		case f.Type.Kind() == reflect.Struct && f.Type.Name() != "Choice":
			p.collect(f.Type, path+name+".", at)
		case numeric(f.Type) || f.Type.Kind() == reflect.String || f.Type.Kind() == reflect.Bool:
			p.fields = append(p.fields, field{path + name, at, false})
		case f.Type.Kind() == reflect.Slice && numeric(f.Type.Elem()):
			p.fields = append(p.fields, field{path + name, at, true})
		}
	}
}

func numeric(t reflect.Type) bool {
	return whole(t) || t.Kind() == reflect.Float64 || t.Kind() == reflect.Float32
}

func whole(t reflect.Type) bool { return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 }

// describe writes what is known of a field into its schema.
func (p *prober) describe(f field, s *jsonschema.Schema, known bool) {
	v := p.config.FieldByIndex(f.index)
	if b, err := json.Marshal(v.Interface()); err == nil && string(b) != "null" && string(b) != `""` {
		s.Default = json.RawMessage(b)
	}
	switch {
	case known:
	case f.list:
		if s.Items != nil {
			p.bounds(f, s.Items)
		}
	case v.Kind() == reflect.String:
		p.words(f, s)
	case v.Kind() != reflect.Bool:
		p.bounds(f, s)
	}
}

// ok reports whether the configuration is accepted with x in field f.
func (p *prober) ok(f field, x any) bool {
	v := p.config.FieldByIndex(f.index)
	before := reflect.New(v.Type()).Elem()
	before.Set(v)
	defer v.Set(before)
	if !f.list {
		v.Set(reflect.ValueOf(x).Convert(v.Type()))
		return p.validate() == nil
	}
	list := reflect.MakeSlice(v.Type(), max(1, v.Len()), max(1, v.Len()))
	reflect.Copy(list, v)
	number := reflect.ValueOf(x).Convert(v.Type().Elem())
	list.Index(0).Set(number)
	v.Set(list)
	if p.validate() == nil {
		return true
	}
	// Where order matters, and some numbers must be there.
	v.Set(ascending(before, number))
	return p.validate() == nil
}

// ascending is a list with one more number, before the first larger one.
func ascending(list, number reflect.Value) reflect.Value {
	less := func(a, b reflect.Value) bool {
		switch {
		case a.CanInt():
			return a.Int() < b.Int()
		case a.CanUint():
			return a.Uint() < b.Uint()
		}
		return a.Float() < b.Float()
	}
	at := 0
	for at < list.Len() && less(list.Index(at), number) {
		at++
	}
	out := reflect.MakeSlice(list.Type(), 0, list.Len()+1)
	out = reflect.AppendSlice(out, list.Slice(0, at))
	return reflect.AppendSlice(reflect.Append(out, number), list.Slice(at, list.Len()))
}

var wanted = regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9.-]*`)

// words finds the words that a text must be one of: those that Validate's own complaint names and that it accepts.
// Where any word will do there is nothing to say.
func (p *prober) words(f field, s *jsonschema.Schema) {
	v := p.config.FieldByIndex(f.index)
	before := v.String()
	v.SetString("no such word")
	err := p.validate()
	v.SetString(before)
	if err == nil {
		return
	}
	_, after, _ := strings.Cut(err.Error(), "want")
	for _, w := range wanted.FindAllString(after, -1) {
		if !slices.Contains(s.Enum, any(w)) && p.word(f, w) {
			s.Enum = append(s.Enum, w)
		}
	}
	if p.ok(f, "") {
		s.Enum = append(s.Enum, "")
	}
	none := len(s.Enum) == 1 && s.Enum[0] == "" // the complaint names no word: which are right hangs on another key
	if !slices.Contains(s.Enum, any(before)) || open(f) || none {
		s.Enum = nil
	}
}

// word reports whether a text is not what Validate complains of; that another key must go with it is another matter.
func (p *prober) word(f field, w string) bool {
	v := p.config.FieldByIndex(f.index)
	before := v.String()
	defer v.SetString(before)
	v.SetString(w)
	err := p.validate()
	if err == nil {
		return true
	}
	_, inSection, _ := strings.Cut(f.key, ".") // "workload: kind is…"
	return !regexp.MustCompile(`(^|: |\.)(` + regexp.QuoteMeta(f.key) + `|` + regexp.QuoteMeta(inSection) + `) is `).MatchString(err.Error())
}

// open reports whether a text takes more than the words that a complaint can name: cuda:0, cuda:1 and so on, lists of
// seeds.
func open(f field) bool { return f.key == "engine.device" || f.key == "eval.seeds" }

// bounds finds the interval of accepted numbers about the present one. Where another key's value moves an end, the
// farthest counts: the schema must not refuse what is right.
func (p *prober) bounds(f field, s *jsonschema.Schema) {
	t := p.config.FieldByIndex(f.index).Type()
	if f.list {
		t = t.Elem()
	}
	line := axisOf(t)
	start := p.start(f)
	if math.IsNaN(start) {
		return
	}
	low, high := p.end(f, line, start, -1), p.end(f, line, start, 1)
	for _, g := range p.fields {
		if g.key == f.key {
			continue
		}
		p.with(g, func() {
			if p.ok(f, line.next(low, -1)) || p.ok(f, line.next(high, 1)) {
				low, high = min(low, p.end(f, line, start, -1)), max(high, p.end(f, line, start, 1))
			}
		})
	}
	if line.unsigned && low == 0 {
		s.Minimum = "0"
	}
	if low > line.far(-1) {
		if before := line.next(low, -1); round(before) && !round(low) {
			s.ExclusiveMinimum = number(before)
		} else {
			s.Minimum = number(low)
		}
	}
	if high < line.far(1)-1 {
		if after := line.next(high, 1); round(after) && !round(high) {
			s.ExclusiveMaximum = number(after)
		} else {
			s.Maximum = number(high)
		}
	}
}

// start is a number that is accepted: the present one where there is one.
func (p *prober) start(f field) float64 {
	v := p.config.FieldByIndex(f.index)
	if f.list {
		if v.Len() == 0 {
			for _, x := range []float64{1, 0.5, 0} {
				if p.ok(f, x) {
					return x
				}
			}
			return math.NaN()
		}
		v = v.Index(0)
	}
	return v.Convert(reflect.TypeFor[float64]()).Float()
}

// with calls try with every extreme of field g in place.
func (p *prober) with(g field, try func()) {
	v := p.config.FieldByIndex(g.index)
	var values []any
	switch {
	case g.list:
		return
	case v.Kind() == reflect.Bool:
		values = []any{!v.Bool()}
	case v.Kind() == reflect.String:
		s := &jsonschema.Schema{}
		p.words(g, s)
		values = append(s.Enum, "x")
	default:
		line, start := axisOf(v.Type()), p.start(g)
		values = []any{p.end(g, line, start, -1), p.end(g, line, start, 1)}
	}
	before := reflect.New(v.Type()).Elem()
	before.Set(v)
	defer v.Set(before)
	for _, x := range values {
		v.Set(reflect.ValueOf(x).Convert(v.Type()))
		try()
	}
}

// end is the farthest number in a direction that is accepted, by halving what lies between.
func (p *prober) end(f field, line axis, start float64, direction int) float64 {
	far := line.far(direction)
	if p.ok(f, far) {
		return far
	}
	good, bad := start, far
	for {
		mid := line.middle(good, bad)
		if mid == good || mid == bad {
			return good
		}
		if p.ok(f, mid) {
			good = mid
		} else {
			bad = mid
		}
	}
}

// axis is the numbers of a type, as float64.
type axis struct{ whole, unsigned bool }

func axisOf(t reflect.Type) axis {
	return axis{whole(t), t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uint64}
}

// far is the farthest number: of whole ones what float64 still counts one by one.
func (a axis) far(direction int) float64 {
	switch {
	case a.unsigned && direction < 0:
		return 0
	case a.whole:
		return float64(direction) * (1 << 53)
	}
	return float64(direction) * math.MaxFloat64
}

func (a axis) next(x float64, direction int) float64 {
	if a.whole {
		return max(x+float64(direction), a.far(-1))
	}
	return math.Nextafter(x, math.Inf(direction))
}

// middle halves by magnitude: by the order of floating-point numbers, so that any end is reached in 64 steps.
func (a axis) middle(x, y float64) float64 {
	if a.whole {
		return math.Trunc((x + y) / 2)
	}
	i, j := ordered(x), ordered(y)
	return unordered(i>>1 + j>>1 + i&j&1)
}

// ordered numbers the floating-point numbers through, in their order.
func ordered(x float64) int64 {
	b := int64(math.Float64bits(x))
	if b < 0 {
		b = math.MinInt64 - b
	}
	return b
}

func unordered(b int64) float64 {
	if b < 0 {
		b = math.MinInt64 - b
	}
	return math.Float64frombits(uint64(b))
}

// round reports whether a person would write the number.
func round(x float64) bool {
	return len(strconv.FormatFloat(x, 'g', -1, 64)) <= 12 && (x == 0 || math.Abs(x) > 1e-20)
}

func number(x float64) json.Number {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return json.Number(strconv.FormatFloat(x, 'f', -1, 64))
	}
	return json.Number(strconv.FormatFloat(x, 'g', -1, 64))
}
