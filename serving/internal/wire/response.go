package wire

import (
	"encoding/binary"
	"math"
	"strconv"
	"unicode/utf8"
)

// Response is what a request is answered with.
type Response struct {
	Model, Version, ID string
	Params             []Param
	Outputs            []Result
}

// Param is a parameter of a response: its value is a bool, an int64 or a string.
type Param struct {
	Key   string
	Value any
}

// Result is an output of type FP32.
type Result struct {
	Name   string
	Shape  []int64
	Data   []float32
	Binary bool
}

// Append appends a response to b. header is the length of its JSON where bytes follow it, 0 where none do. A value that
// is not finite is null in JSON, which has no word for it.
func (r *Response) Append(b []byte) (out []byte, header int) {
	start := len(b)
	b = append(b, `{"model_name":`...)
	b = appendText(b, r.Model)
	b = append(b, `,"model_version":`...)
	b = appendText(b, r.Version)
	if r.ID != "" {
		b = append(b, `,"id":`...)
		b = appendText(b, r.ID)
	}
	for i, p := range r.Params {
		b = append(b, more(i, `,"parameters":{`)...)
		b = appendText(b, p.Key)
		b = append(b, ':')
		b = appendValue(b, p.Value)
	}
	if len(r.Params) > 0 {
		b = append(b, '}')
	}
	bytesFollow := false
	b = append(b, `,"outputs":[`...)
	for i, o := range r.Outputs {
		b = append(b, more(i, "")...)
		b = appendResult(b, &o)
		bytesFollow = bytesFollow || o.Binary
	}
	b = append(b, "]}"...)
	if !bytesFollow {
		return b, 0
	}
	header = len(b) - start
	for _, o := range r.Outputs {
		if o.Binary {
			b = AppendRaw(b, o.Data)
		}
	}
	return b, header
}

// AppendRaw appends values as bytes, little-endian.
func AppendRaw(b []byte, data []float32) []byte {
	for _, x := range data {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// more is what stands before entry i of a list.
func more(i int, before string) string {
	if i == 0 {
		return before
	}
	return ","
}

func appendResult(b []byte, o *Result) []byte {
	b = append(b, `{"name":`...)
	b = appendText(b, o.Name)
	b = append(b, `,"datatype":"FP32","shape":[`...)
	for i, d := range o.Shape {
		b = append(b, more(i, "")...)
		b = strconv.AppendInt(b, d, 10)
	}
	if o.Binary {
		b = append(b, `],"parameters":{"binary_data_size":`...)
		b = strconv.AppendInt(b, int64(4*len(o.Data)), 10)
		return append(b, "}}"...)
	}
	b = append(b, `],"data":[`...)
	for i, x := range o.Data {
		b = append(b, more(i, "")...)
		if x-x != 0 {
			b = append(b, "null"...)
			continue
		}
		b = strconv.AppendFloat(b, float64(x), 'g', -1, 32)
	}
	return append(b, "]}"...)
}

func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case string:
		return appendText(b, v)
	}
	return append(b, "null"...)
}

// appendText appends a string of JSON.
func appendText(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i, c := range s {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			b = append(b, s[i])
		default:
			b = utf8.AppendRune(b, c)
		}
	}
	return append(b, '"')
}
