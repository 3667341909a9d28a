package asl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// value is a JSON value with the line where it begins. encoding/json's own types know no lines.
type value struct {
	line   int
	fields []field // of an object, in the file's order
	items  []*value
	kind   byte // '{', '[', 's' for a text, 'n' for a number, 'b' for true and false, '0' for null
	text   string
	number float64
	truth  bool
}

type field struct {
	name string
	*value
}

// get returns the value of an object's field, nil where there is none.
func (v *value) get(name string) *value {
	if v == nil {
		return nil
	}
	for _, f := range v.fields {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// is reports whether a value is a text.
func (v *value) is(text string) bool { return v != nil && v.kind == 's' && v.text == text }

// maxDepth bounds how deep objects and lists lie inside each other.
const maxDepth = 200

// parse reads a JSON object.
func parse(data []byte) (*value, error) {
	p := parser{data: data, dec: json.NewDecoder(bytes.NewReader(data)), line: 1}
	p.dec.UseNumber()
	v, err := p.value(0)
	if err != nil {
		return nil, p.wrong(err)
	}
	if v.kind != '{' {
		return nil, fmt.Errorf("line %d: want an object with StartAt and States", v.line)
	}
	if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("line %d: there is more after the machine's last brace", p.at())
	}
	return v, nil
}

type parser struct {
	data   []byte
	dec    *json.Decoder
	offset int64 // up to which lines are counted
	line   int
}

// at returns the line of the token that was read last.
func (p *parser) at() int {
	to := p.dec.InputOffset()
	p.line += bytes.Count(p.data[p.offset:to], []byte{'\n'})
	p.offset = to
	return p.line
}

func (p *parser) wrong(err error) error {
	var s *json.SyntaxError
	line := 0
	switch {
	case errors.As(err, &s):
		line = 1 + bytes.Count(p.data[:min(int(s.Offset), len(p.data))], []byte{'\n'})
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("line %d: the file ends too early", 1+bytes.Count(bytes.TrimSpace(p.data), []byte{'\n'}))
	default:
		return err
	}
	return fmt.Errorf("line %d: %s", line, strings.TrimPrefix(s.Error(), "json: "))
}

func (p *parser) value(depth int) (*value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("line %d: objects lie more than %d deep", p.at(), maxDepth)
	}
	t, err := p.dec.Token()
	if err != nil {
		return nil, err
	}
	v := &value{line: p.at()}
	switch t := t.(type) {
	case json.Delim:
		v.kind = byte(t)
		if t == '{' {
			err = p.object(v, depth)
		} else {
			err = p.list(v, depth)
		}
	case string:
		v.kind, v.text = 's', t
	case json.Number:
		v.kind = 'n'
		if v.number, err = t.Float64(); err != nil {
			err = fmt.Errorf("line %d: the number %s is too large", v.line, t)
		}
	case bool:
		v.kind, v.truth = 'b', t
	default:
		v.kind = '0'
	}
	return v, err
}

func (p *parser) object(v *value, depth int) error {
	seen := map[string]bool{}
	for p.dec.More() {
		t, err := p.dec.Token()
		if err != nil {
			return err
		}
		name, ok := t.(string)
		if !ok {
			return fmt.Errorf("line %d: a field's name is not a text", p.at())
		}
		if seen[name] {
			return fmt.Errorf("line %d: the field %q is there twice", p.at(), name)
		}
		seen[name] = true
		x, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		v.fields = append(v.fields, field{name, x})
	}
	_, err := p.dec.Token()
	return err
}

func (p *parser) list(v *value, depth int) error {
	for p.dec.More() {
		x, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		v.items = append(v.items, x)
	}
	_, err := p.dec.Token()
	return err
}
