package wire

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Params are a request's parameters: each value is a bool, an int64, a float64 or a string.
type Params map[string]any

// Output is an output that a request asks for.
type Output struct {
	Name   string
	Binary bool // after the JSON, as bytes

	said bool // that it is binary, or not
}

// Request is an inference request. Its strings and tensors may lie in the body that it was read from.
type Request struct {
	// Model and Version are what KServe's client repeats of the path; "" where they are not given.
	Model, Version string

	ID      string
	Params  Params
	Inputs  []Tensor
	Outputs []Output // none asks for all
	// Binary says that outputs that do not say otherwise are wanted as bytes.
	Binary bool
}

// Reset empties a request to be read again.
func (r *Request) Reset() {
	for i := range r.Inputs {
		r.Inputs[i] = Tensor{Shape: r.Inputs[i].Shape[:0]}
	}
	*r = Request{Inputs: r.Inputs[:0], Outputs: r.Outputs[:0]}
}

// Wants returns whether output name is asked for, and whether as bytes.
func (r *Request) Wants(name string) (wanted, binary bool) {
	if len(r.Outputs) == 0 {
		return true, r.Binary
	}
	for _, o := range r.Outputs {
		if o.Name == name {
			return true, o.Binary
		}
	}
	return false, false
}

// maxInputs bounds the tensors of a request: graphs of many kinds have a few dozen.
const maxInputs = 256

// Parse reads a body into r: header bytes of JSON, then the bytes of the tensors that say so. Without binary tensors
// the header is the whole body.
func (r *Request) Parse(body []byte, header int) error {
	r.Reset()
	if header < 0 || header > len(body) {
		return fmt.Errorf("the header has %d bytes, the body has %d", header, len(body))
	}
	s := &scanner{b: body[:header]}
	var seen keys
	err := s.object(func(key string) (err error) {
		if err = seen.add(key, "id", "parameters", "inputs", "outputs", "model_name", "model_version"); err != nil {
			return err
		}
		switch key {
		case "id":
			r.ID, err = s.text()
		case "model_name":
			r.Model, err = s.text()
		case "model_version":
			r.Version, err = s.text()
		case "parameters":
			r.Params, err = s.params()
		case "inputs":
			err = s.array(func(i int) error { return at(r.input(s, i), "inputs[%d]", i) })
		case "outputs":
			err = s.array(func(i int) error { return at(r.output(s, i), "outputs[%d]", i) })
		}
		return at(err, "%s", key)
	})
	if err != nil {
		return err
	}
	if s.space(); s.at < len(s.b) {
		return fmt.Errorf("%s follows the request", s.found())
	}
	if r.Binary, err = r.Params.Bool("binary_data_output"); err != nil {
		return err
	}
	for i := range r.Outputs {
		if o := &r.Outputs[i]; !o.said {
			o.Binary = r.Binary
		}
	}
	return r.cut(body[header:])
}

// keys are the keys met in one object.
type keys []string

func (k *keys) add(key string, known ...string) error {
	if !slices.Contains(known, key) {
		return fmt.Errorf("unknown key %q, want %s", key, strings.Join(known, ", "))
	}
	if slices.Contains(*k, key) {
		return fmt.Errorf("key %q comes twice", key)
	}
	*k = append(*k, key)
	return nil
}

// fieldError is an error with the place of what is wrong.
type fieldError struct {
	field string
	err   error
}

func (e *fieldError) Error() string { return e.field + ": " + e.err.Error() }
func (e *fieldError) Unwrap() error { return e.err }

// at puts the place before an error that does not name it yet.
func at(err error, format string, args ...any) error {
	var named *fieldError
	if err == nil || errors.As(err, &named) {
		return err
	}
	return &fieldError{fmt.Sprintf(format, args...), err}
}

func (r *Request) input(s *scanner, i int) error {
	if i == maxInputs {
		return fmt.Errorf("more than %d inputs", maxInputs)
	}
	r.Inputs = slices.Grow(r.Inputs, 1)[:i+1]
	t := &r.Inputs[i]
	*t = Tensor{Shape: t.Shape[:0], binary: -1}
	var seen keys
	err := s.object(func(key string) (err error) {
		if err = seen.add(key, "name", "shape", "datatype", "parameters", "data"); err != nil {
			return err
		}
		switch key {
		case "name":
			t.Name, err = s.text()
		case "datatype":
			t.Type, err = s.text()
		case "shape":
			err = s.array(func(i int) error {
				text, err := s.number()
				if err != nil {
					return err
				}
				d, err := strconv.ParseInt(text, 10, 64)
				if err != nil || d < 0 || i == 8 {
					return fmt.Errorf("size %d is %s, want at most 8 whole numbers from 0", i, text)
				}
				t.Shape = append(t.Shape, d)
				return nil
			})
		case "data":
			t.Text, err = s.numbers()
		case "parameters":
			var p Params
			if p, err = s.params(); err == nil {
				t.binary, err = p.size()
			}
		}
		return at(err, "inputs[%d].%s", i, key)
	})
	if err != nil {
		return err
	}
	for _, key := range []string{"name", "shape", "datatype"} {
		if !slices.Contains(seen, key) {
			return fmt.Errorf("has no %s", key)
		}
	}
	if (t.Text == nil) == (t.binary < 0) {
		return errors.New("want either data or the parameter binary_data_size")
	}
	return nil
}

func (r *Request) output(s *scanner, i int) error {
	if i == maxInputs {
		return fmt.Errorf("more than %d outputs", maxInputs)
	}
	var o Output
	var seen keys
	err := s.object(func(key string) (err error) {
		if err = seen.add(key, "name", "parameters"); err != nil {
			return err
		}
		switch key {
		case "name":
			o.Name, err = s.text()
		case "parameters":
			var p Params
			if p, err = s.params(); err == nil {
				_, o.said = p["binary_data"]
				o.Binary, err = p.Bool("binary_data")
			}
		}
		return at(err, "outputs[%d].%s", i, key)
	})
	if err == nil && o.Name == "" {
		err = errors.New("has no name")
	}
	r.Outputs = append(r.Outputs, o)
	return err
}

// cut gives the bytes after the JSON to the tensors that announce them, in their order.
func (r *Request) cut(rest []byte) error {
	for i := range r.Inputs {
		t := &r.Inputs[i]
		if t.binary < 0 {
			continue
		}
		if t.binary > int64(len(rest)) {
			return at(fmt.Errorf("%d bytes are announced, %d are left in the body", t.binary, len(rest)),
				"inputs[%d].parameters.binary_data_size", i)
		}
		t.Raw, rest = rest[:t.binary:t.binary], rest[t.binary:]
	}
	if len(rest) > 0 {
		return fmt.Errorf("%d bytes follow the last tensor of the body", len(rest))
	}
	return nil
}

// params reads parameters.
func (s *scanner) params() (Params, error) {
	p := Params{}
	err := s.object(func(key string) error {
		if _, twice := p[key]; twice {
			return fmt.Errorf("key %q comes twice", key)
		}
		switch c := s.space(); c {
		case '"':
			v, err := s.text()
			p[strings.Clone(key)] = strings.Clone(v)
			return err
		case 't', 'f':
			v, err := s.boolean()
			p[strings.Clone(key)] = v
			return err
		}
		text, err := s.number()
		if err != nil {
			return fmt.Errorf("%q: %w or a string, true or false", key, err)
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			p[strings.Clone(key)] = n
			return nil
		}
		x, err := strconv.ParseFloat(text, 64)
		p[strings.Clone(key)] = x
		return err
	})
	return p, err
}

// Bool returns a parameter that says yes or no; false where it is not given.
func (p Params) Bool(name string) (bool, error) {
	v, ok := p[name]
	b, is := v.(bool)
	if ok && !is {
		return false, at(fmt.Errorf("is %v, want true or false", v), "parameters.%s", name)
	}
	return b, nil
}

// size is the parameter binary_data_size, −1 where it is not given.
func (p Params) size() (int64, error) {
	v, ok := p["binary_data_size"]
	if !ok {
		return -1, nil
	}
	n, is := v.(int64)
	if !is || n < 0 || n > math.MaxInt32 {
		return 0, fmt.Errorf("binary_data_size is %v, want a number of bytes", v)
	}
	return n, nil
}
