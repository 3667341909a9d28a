package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
)

// Line is a measurement decoded from JSON, ours or a peer's.
type Line map[string]any

// keys say what was measured. Two lines match where all keys that both have are equal.
var keys = []string{"bench", "env", "what", "agents", "batch", "neighbours", "instances", "episodes", "edges", "hidden"}

// sameInstances is the relative difference at which two numbers of instances still match: they are an outcome of
// simulations.
const sameInstances = 0.2

// AsLine converts a result to its JSON line.
func AsLine(r Result) (Line, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return ParseLine(b)
}

// ParseLine reads one measurement. It must have the key "bench" and at least one figure.
func ParseLine(b []byte) (Line, error) {
	var l Line
	if err := json.Unmarshal(b, &l); err != nil {
		return nil, err
	}
	if s, ok := l["bench"].(string); !ok || s == "" {
		return nil, errors.New(`no "bench", want the measurement's name, such as "attmf"`)
	}
	f := l.Figures()
	if len(f) == 0 {
		return nil, errors.New(`no figure, want one such as "updates_per_second" or "step_seconds"`)
	}
	for _, name := range f {
		if x, ok := l[name].(float64); !ok || !(x > 0) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("%q is %v, want a number above 0", name, l[name])
		}
	}
	return l, nil
}

// ReadLines reads measurements, one a line. It skips lines that don't begin with a brace.
func ReadLines(r io.Reader) ([]Line, error) {
	var out []Line
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		text := bytes.TrimSpace(in.Bytes())
		if !bytes.HasPrefix(text, []byte("{")) {
			continue
		}
		l, err := ParseLine(text)
		if err != nil {
			return out, fmt.Errorf("line %d: %w: %s", n, err, shorten(string(text)))
		}
		out = append(out, l)
	}
	return out, in.Err()
}

// shorten cuts a peer's output to a length that suits an error message.
func shorten(s string) string {
	const most = 300
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// Figures are the names of the line's rates (…_per_second, gflops) and times (…_seconds, ns_per_op).
func (l Line) Figures() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(l)) {
		if isTime(name) || strings.HasSuffix(name, "_per_second") || name == "gflops" {
			out = append(out, name)
		}
	}
	return out
}

// isTime reports whether a figure is a time: less is better.
func isTime(figure string) bool {
	return strings.HasSuffix(figure, "_seconds") || figure == "ns_per_op"
}

// Matches reports whether two lines measure the same: all keys that both have are equal, except that numbers of
// instances may differ by 20 %.
func (l Line) Matches(o Line) bool {
	for _, k := range keys {
		a, b := l[k], o[k]
		if a == nil || b == nil {
			continue
		}
		if x, ok := a.(float64); ok && k == "instances" {
			if y, ok := b.(float64); !ok || math.Abs(x-y) > sameInstances*max(x, y) {
				return false
			}
			continue
		}
		if a != b {
			return false
		}
	}
	return true
}

// shared are the figures that both lines have. ns_per_op is used only where it is the only one.
func (l Line) shared(o Line) []string {
	var out []string
	for _, f := range l.Figures() {
		if o[f] != nil {
			out = append(out, f)
		}
	}
	if len(out) > 1 {
		out = slices.DeleteFunc(out, func(f string) bool { return f == "ns_per_op" })
	}
	return out
}

// advantage is how many times better than o the line is in a figure: a ratio of rates, or the inverse ratio of times.
func (l Line) advantage(o Line, figure string) float64 {
	a, b := l[figure].(float64), o[figure].(float64)
	if isTime(figure) {
		return b / a
	}
	return a / b
}

// String describes what was measured, for tables: the values of the keys.
func (l Line) String() string {
	var parts []string
	for _, k := range keys {
		switch x := l[k].(type) {
		case string:
			parts = append(parts, x)
		case float64:
			switch k {
			case "batch":
				parts = append(parts, fmt.Sprintf("× %g", x))
			default:
				parts = append(parts, fmt.Sprintf("%.4g %s", x, k))
			}
		}
	}
	return strings.Join(parts, " ")
}

// ours is the name of this program in comparisons.
const ours = "stoker"

// by names what was measured: a peer's name, or our engine with its kernels, and the threads; who where the line says
// nothing.
func (l Line) by(who string) string {
	var parts []string
	for _, k := range []string{"peer", "engine", "kernels"} {
		if s, ok := l[k].(string); ok {
			parts = append(parts, s)
		}
	}
	if t, ok := l["threads"].(float64); ok {
		parts = append(parts, fmt.Sprintf("%g threads", t))
	}
	if len(parts) == 0 {
		return who
	}
	return strings.Join(parts, " ")
}
