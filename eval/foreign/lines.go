package foreign

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/policy/onnx"
)

// Protocol is the name and the version of the protocol of lines, in both hellos.
const Protocol = "policy/1"

// mostLine is the most bytes of an answer.
const mostLine = 64 << 20

// lines is a conversation in lines of JSON: a request, then its answer. After an error it is over.
type lines struct {
	spec *envs.Spec
	to   io.Writer
	from *bufio.Reader
	id   int64
	// arrays is how the other side asked for arrays: as lists, where empty too; in base64; as bytes after the line; or joined, as
	// bytes with the graphs of all episodes laid one after another.
	arrays string
	// line and after are of the last request, for the next one to write over.
	line, after []byte
}

// joined is the way of arrays in which the graphs of all episodes are one.
const joined = "joined"

// graphs reports whether observations can be joined.
func (l *lines) graphs() bool {
	_, ok := l.spec.Kinds[0].Observation.(envs.Graph)
	return ok && len(l.spec.Kinds) == 1
}

// hello is the first line of either side. Stoker's has the spec, and the way of arrays that is quickest; the other side's has an
// error where it can't act.
type hello struct {
	Stoker string          `json:"stoker"`
	Spec   json.RawMessage `json:"spec,omitempty"`
	Error  string          `json:"error,omitempty"`
	Arrays string          `json:"arrays,omitempty"`
}

// greet exchanges hellos.
func (l *lines) greet(ctx context.Context) error {
	spec, err := envs.EncodeSpec(l.spec)
	if err != nil {
		return err
	}
	offered := "bytes"
	if l.graphs() {
		offered = joined
	}
	line, err := json.Marshal(hello{Stoker: Protocol, Spec: spec, Arrays: offered})
	if err != nil {
		return err
	}
	if line, err = l.exchange(ctx, append(line, '\n')); err != nil {
		return err
	}
	var h hello
	switch err := json.Unmarshal(line, &h); {
	case err != nil:
		return notJSON(line, err)
	case h.Error != "":
		return errors.New(h.Error)
	case h.Stoker != Protocol:
		return fmt.Errorf("it speaks %q, this program speaks %q", h.Stoker, Protocol)
	case h.Arrays == joined && offered != joined || !slices.Contains([]string{"", "lists", "base64", "bytes", joined}, h.Arrays):
		return fmt.Errorf("it asks for arrays as %q, want lists, base64 or %s", h.Arrays, offered)
	}
	l.arrays = h.Arrays
	return nil
}

// notJSON is the error of a line that can't be read.
func notJSON(line []byte, err error) error {
	const shown = 80
	text := strings.TrimSpace(string(line))
	if len(text) > shown {
		text = text[:shown] + "…"
	}
	return fmt.Errorf("its answer %q is not the JSON that is wanted (%w); whatever else it prints belongs on standard "+
		"error", text, err)
}

// act asks for the actions of all turns in one request.
func (l *lines) act(ctx context.Context, turns []Turn) error {
	l.id++
	request, err := l.request(turns)
	if err != nil {
		return err
	}
	line, err := l.exchange(ctx, request)
	if err != nil {
		return err
	}
	return l.answer(line, turns)
}

// request is the line that asks, and the bytes of arrays after it. It is good until the next one.
func (l *lines) request(turns []Turn) ([]byte, error) {
	b := fmt.Appendf(l.line[:0], `{"id":%d,"episodes":[`, l.id)
	l.after = l.after[:0]
	var err error
	for i, t := range turns {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"slot":%d,"step":%d`, t.Slot, t.Step)
		if l.arrays != joined {
			if b, err = l.appendSeen(b, t.Seen); err != nil {
				return nil, err
			}
		}
		b = append(b, '}')
	}
	b = append(b, ']')
	if l.arrays == joined {
		if b, err = l.appendSeen(b, lists.From(turns, func(t Turn) *envs.Observation { return t.Seen })...); err != nil {
			return nil, err
		}
	}
	if l.asBytes() {
		b = fmt.Appendf(b, `,"bytes":%d`, len(l.after))
	}
	l.line = append(append(b, "}\n"...), l.after...)
	return l.line, nil
}

// asBytes reports whether arrays stand after the line.
func (l *lines) asBytes() bool { return l.arrays == "bytes" || l.arrays == joined }

// appendSeen appends what is seen in an episode, or in several.
func (l *lines) appendSeen(b []byte, seen ...*envs.Observation) ([]byte, error) {
	tensors, err := onnx.Inputs(l.spec, seen...)
	if err != nil {
		return nil, err
	}
	b = append(b, `,"observation":{`...)
	for k := range l.spec.Kinds {
		if k > 0 {
			b = append(b, ',')
		}
		b = l.appendKind(b, k, tensors)
	}
	return append(b, '}'), nil
}

// appendKind appends what the agents of a kind see, by the names of an exported model's inputs.
func (l *lines) appendKind(b []byte, kind int, tensors []onnx.Tensor) []byte {
	k := &l.spec.Kinds[kind]
	b = append(strconv.AppendQuote(b, k.Name), ":{"...)
	_, graph := k.Observation.(envs.Graph)
	sep := ""
	for i := range tensors {
		t := &tensors[i]
		name, mine := t.Name, true
		if len(l.spec.Kinds) > 1 {
			name, mine = strings.CutPrefix(name, k.Name+".")
		}
		if !mine {
			continue
		}
		b = append(strconv.AppendQuote(append(b, sep...), name), ':')
		shape := t.Shape
		if !graph {
			shape = shape[1:] // of one episode
		}
		if l.asBytes() || l.arrays == "base64" {
			b = l.appendPacked(b, t, shape)
		} else {
			b, _ = appendTensor(b, t, shape, 0)
		}
		sep = ","
	}
	return append(b, '}')
}

// appendPacked appends type and shape as NumPy has them, and the numbers, little-endian: in base64, or where they begin in the
// bytes after the line, which is a multiple of 8.
func (l *lines) appendPacked(b []byte, t *onnx.Tensor, shape []int) []byte {
	after := l.after
	for len(after)%8 > 0 {
		after = append(after, 0)
	}
	at, dtype := len(after), "?"
	after = slices.Grow(after, 4*len(t.Floats)+8*len(t.Ints)+len(t.Bools))
	for _, x := range t.Floats {
		after = binary.LittleEndian.AppendUint32(after, math.Float32bits(x))
	}
	for _, x := range t.Ints {
		after = binary.LittleEndian.AppendUint64(after, uint64(x))
	}
	for _, x := range t.Bools {
		bit := byte(0)
		if x {
			bit = 1
		}
		after = append(after, bit)
	}
	l.after = after
	switch {
	case t.Floats != nil:
		dtype = "<f4"
	case t.Ints != nil:
		dtype = "<i8"
	}
	b = append(strconv.AppendQuote(append(b, `{"dtype":`...), dtype), `,"shape":[`...)
	for i, n := range shape {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	if l.asBytes() {
		return append(strconv.AppendInt(append(b, `],"at":`...), int64(at), 10), '}')
	}
	b = append(base64.StdEncoding.AppendEncode(append(b, `],"base64":"`...), l.after[at:]), `"}`...)
	l.after = l.after[:0]
	return b
}

// appendTensor appends nested lists of the numbers from at on, and returns where it ended.
func appendTensor(b []byte, t *onnx.Tensor, shape []int, at int) ([]byte, int) {
	if len(shape) == 0 {
		switch {
		case t.Floats != nil:
			b = strconv.AppendFloat(b, float64(t.Floats[at]), 'g', -1, 32)
		case t.Ints != nil:
			b = strconv.AppendInt(b, t.Ints[at], 10)
		default:
			b = strconv.AppendBool(b, t.Bools[at])
		}
		return b, at + 1
	}
	b = append(b, '[')
	for i := range shape[0] {
		if i > 0 {
			b = append(b, ',')
		}
		b, at = appendTensor(b, t, shape[1:], at)
	}
	return append(b, ']'), at
}

// answer reads an answer into the turns' actions.
func (l *lines) answer(line []byte, turns []Turn) error {
	var a struct {
		ID      *int64           `json:"id"`
		Actions []map[string]any `json:"actions"`
		Error   string           `json:"error"`
		Episode int              `json:"episode"` // that the error is of
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return notJSON(line, err)
	}
	switch {
	case a.Error != "" && a.Episode > 0 && a.Episode < len(turns):
		return &Failure{a.Episode, errors.New(a.Error)}
	case a.Error != "":
		return errors.New(a.Error)
	case a.ID == nil || *a.ID != l.id:
		return fmt.Errorf("its answer has not the request's id, %d", l.id)
	case len(a.Actions) != len(turns):
		return fmt.Errorf("it answers %d actions, want one for each of %d episodes", len(a.Actions), len(turns))
	}
	for i, t := range turns {
		for j := range l.spec.Kinds {
			k := &l.spec.Kinds[j]
			if err := fill(t.Act.Kinds[j], a.Actions[i][k.Name], k); err != nil {
				return &Failure{i, fmt.Errorf("its action of %s %w", k.Name, err)}
			}
		}
	}
	return nil
}

// fill reads nested lists, [agents, components], into an action. Dimensions of 1 may be left out or added.
func fill(act []float32, v any, k *envs.Kind) error {
	if v == nil {
		return errors.New("is missing")
	}
	shape := shapeOf(v)
	if one := func(n int) bool { return n == 1 }; !slices.Equal(slices.DeleteFunc(slices.Clone(shape), one),
		slices.DeleteFunc([]int{k.Agents, k.Action.Width()}, one)) {
		return fmt.Errorf("has the shape %v, want [%d %d]", shape, k.Agents, k.Action.Width())
	}
	rest, err := flat(act, v, shape)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("has %d numbers too few", len(rest))
	}
	return err
}

// shapeOf is the shape of nested lists, as their first entries tell.
func shapeOf(v any) (shape []int) {
	for list, ok := v.([]any); ok; list, ok = v.([]any) {
		if shape = append(shape, len(list)); len(list) == 0 {
			break
		}
		v = list[0]
	}
	return shape
}

// flat writes the numbers of nested lists of a shape to the front of act, and returns the rest of it.
func flat(act []float32, v any, shape []int) ([]float32, error) {
	switch v := v.(type) {
	case float64:
		if len(shape) == 0 && len(act) > 0 {
			act[0] = float32(v)
			return act[1:], nil
		}
	case []any:
		if len(shape) == 0 || len(v) != shape[0] {
			break
		}
		for _, x := range v {
			var err error
			if act, err = flat(act, x, shape[1:]); err != nil {
				return nil, err
			}
		}
		return act, nil
	default:
		return nil, fmt.Errorf("has %v in it, want numbers", v)
	}
	return nil, errors.New("has lists of different lengths")
}

// exchange sends a line and reads one.
func (l *lines) exchange(ctx context.Context, line []byte) ([]byte, error) {
	type result struct {
		line []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		_, failed := l.to.Write(line)
		answer, err := readLine(l.from, mostLine) // what it said before it ended says more
		if failed != nil && err != nil {
			err = failed
		}
		done <- result{answer, err}
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// readLine reads a line of at most so many bytes.
func readLine(r *bufio.Reader, most int) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > most:
			return nil, fmt.Errorf("its answer has more than %d bytes", most)
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, fmt.Errorf("its answer is cut after %d bytes: %w", len(line), io.ErrUnexpectedEOF)
		case err == nil || !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}
