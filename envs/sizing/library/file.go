package library

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/envs/sizing"
)

// maxBytes bounds what is read of a file: a library of 100,000 windows of twelve functions has about 200 MB.
const maxBytes = 2 << 30

// Read reads a library, or a file of FaaSConf's published measurements. Errors name the file, the line and the column.
func Read(path string) (*Library, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() || info.Size() > maxBytes {
		return nil, fmt.Errorf("%s: is a folder or larger than %d bytes, want a CSV file", path, int64(maxBytes))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	l, err := Parse(path, text)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	l.Digest = hex.EncodeToString(sum[:])
	return l, nil
}

// Parse is [Read] of a file's content.
func Parse(path string, text []byte) (*Library, error) {
	in := csv.NewReader(bytes.NewReader(text))
	in.ReuseRecord = true
	header, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: is empty, want a library (stoker library)", path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p := parser{l: &Library{Path: path}, in: in, header: slices.Clone(header)}
	if err := p.columns(); err != nil {
		return nil, err
	}
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if err := p.row(record); err != nil {
			return nil, err
		}
	}
	if len(p.l.Rows) == 0 {
		return nil, fmt.Errorf("%s: has a header and no rows", path)
	}
	return p.l, nil
}

// parser reads rows; its lists say which column each number of a row comes from.
type parser struct {
	l      *Library
	in     *csv.Reader
	header []string

	first                   [4]int // of workflow, users, seed, window; −1 where the file has none
	workflow                string // where the file has no column for it
	action, feature, window []int
}

// columns finds out what the header's columns are.
func (p *parser) columns() error {
	if len(p.header) > 0 && p.header[0] == publishedFirst {
		return p.published()
	}
	l := p.l
	for i := range first {
		if p.first[i] = slices.Index(p.header, first[i]); p.first[i] < 0 {
			return p.bad(1, "there is no column %q; the columns of a library begin with %s, and of the published file with %s",
				first[i], strings.Join(first, ", "), publishedFirst)
		}
	}
	seen := map[string]bool{}
	for _, h := range p.header {
		name := split(h).Name
		if seen[name] {
			return p.bad(1, "there are two columns %q", name)
		}
		seen[name] = true
		if rest, ok := strings.CutPrefix(name, actionPrefix); ok {
			f, c, ok := cutLast(rest)
			if !ok {
				return p.bad(1, "column %q: want %sFUNCTION.COMPONENT", h, actionPrefix)
			}
			if !slices.Contains(l.Functions, f) {
				l.Functions = append(l.Functions, f)
			}
			if !slices.ContainsFunc(l.Actions, named(c)) {
				l.Actions = append(l.Actions, Column{c, split(h).Unit})
			}
		}
	}
	if len(l.Functions) == 0 {
		return p.bad(1, "there are no columns of actions, %sFUNCTION.COMPONENT", actionPrefix)
	}
	for i, h := range p.header {
		c := split(h)
		if strings.HasPrefix(c.Name, actionPrefix) || slices.Contains(p.first[:], i) {
			continue
		}
		f, feature := l.functionOf(c.Name)
		switch {
		case f < 0:
			l.Info = append(l.Info, c)
			p.window = append(p.window, i)
		case !slices.ContainsFunc(l.Features, named(feature)):
			l.Features = append(l.Features, Column{feature, c.Unit})
		}
	}
	return p.complete()
}

// complete finds the column of every function's every number.
func (p *parser) complete() error {
	l := p.l
	at := map[string]int{}
	for i, h := range p.header {
		at[split(h).Name] = i
	}
	for _, part := range []struct {
		prefix string
		of     []Column
		to     *[]int
	}{{actionPrefix, l.Actions, &p.action}, {"", l.Features, &p.feature}} {
		for _, f := range l.Functions {
			for _, c := range part.of {
				i, ok := at[part.prefix+f+"."+c.Name]
				if !ok {
					return p.bad(1, "there is no column %q, though other functions have one", part.prefix+f+"."+c.Name)
				}
				*part.to = append(*part.to, i)
			}
		}
	}
	for _, name := range []string{"price", "latency", "successes"} {
		if l.index(name) < 0 {
			return p.bad(1, "there is no column %q", name)
		}
	}
	return nil
}

// functionOf splits FUNCTION.FEATURE, −1 where no function of the file begins the name.
func (l *Layout) functionOf(name string) (int, string) {
	best, rest := -1, ""
	for i, f := range l.Functions {
		if r, ok := strings.CutPrefix(name, f+"."); ok && (best < 0 || len(f) > len(l.Functions[best])) {
			best, rest = i, r
		}
	}
	return best, rest
}

// split takes a header's name and unit apart.
func split(header string) Column {
	name, unit, ok := strings.Cut(header, " [")
	if !ok || !strings.HasSuffix(unit, "]") {
		return Column{Name: header}
	}
	return Column{name, strings.TrimSuffix(unit, "]")}
}

func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndex(s, ".")
	if i < 1 || i == len(s)-1 {
		return "", "", false
	}
	return s[:i], s[i+1:], true
}

// bad is an error at a line.
func (p *parser) bad(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", p.l.Path, line, fmt.Sprintf(format, args...))
}

// row reads one line.
func (p *parser) row(record []string) error {
	line, _ := p.in.FieldPos(0)
	at := func(i int, format string, args ...any) error {
		return p.bad(line, "column %d (%s): %s", i+1, p.header[i], fmt.Sprintf(format, args...))
	}
	r := Row{Workflow: p.workflow}
	if i := p.first[0]; i >= 0 {
		if r.Workflow = record[i]; r.Workflow == "" {
			return at(i, "is empty, want the workflow's name")
		}
	}
	for k, to := range []*int{1: &r.Users, 3: &r.Window} {
		if to == nil || p.first[k] < 0 {
			continue
		}
		n, err := strconv.Atoi(record[p.first[k]])
		if err != nil || n < 0 || n > 1<<30 {
			return at(p.first[k], "is %q, want a whole number of 0 or more", record[p.first[k]])
		}
		*to = n
	}
	if i := p.first[2]; i >= 0 {
		var err error
		if r.Seed, err = strconv.ParseUint(record[i], 10, 64); err != nil {
			return at(i, "is %q, want a whole number of 0 or more", record[i])
		}
	}
	for _, i := range p.action {
		x, err := strconv.ParseFloat(record[i], 32)
		if err != nil || !(x >= 0 && x <= 1) {
			return at(i, "is %q, want a number from 0 to 1", record[i])
		}
		r.Action = append(r.Action, float32(x))
	}
	for _, i := range p.feature {
		x, err := strconv.ParseFloat(record[i], 32)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return at(i, "is %q, want a number", record[i])
		}
		r.Observation = append(r.Observation, float32(x))
	}
	for k, i := range p.window {
		x, err := strconv.ParseFloat(record[i], 64)
		known := slices.Contains([]string{"price", "latency", "successes"}, p.l.Info[k].Name)
		if err != nil || math.IsInf(x, 0) || x < 0 || known && math.IsNaN(x) {
			return at(i, "is %q, want a number of 0 or more", record[i])
		}
		r.Info = append(r.Info, x)
	}
	p.l.Rows = append(p.l.Rows, r)
	p.l.lines = append(p.l.lines, line)
	return nil
}

// publishedFirst is the first column of FaaSConf's published measurements.
const publishedFirst = "cpu-func1"

// These are the columns that a file of FaaSConf's measurements has under other names.
var (
	publishedActions = map[string]string{"cpu": "cpu", "mem": "memory", "replicas": "replicas", "concurrency": "concurrency"}
	publishedFeature = []struct{ theirs, ours, unit string }{
		{"cpu_metric", "cpu used", "% of a core"}, {"thr_metric", "throttled", "millicores"},
		{"mem_metric", "memory used", "% of the limit"}, {"network_metric", "network", "bytes/s"},
		{"latency_p75", "p75", "s"}, {"latency-p95", "p95", "s"},
	}
	publishedInfo = []struct{ theirs, ours, unit string }{
		{"e2e-latency", "latency", "s"}, {"p95-latency", "latency_p95", "s"}, {"thoughput(success)", "successes", "requests"},
		{"total_request", "requests", "requests"}, {"price", "price", "USD/h"}, {"qps", "load", "users"},
	}
)

// publishedFunctions are the functions of the Parallel workflow, the only one of which measurements are published, in
// the order of the file's columns.
var publishedFunctions = []string{"starter", "rgb", "resize", "update", "resnet", "mobilenet"}

// published reads the header of FaaSConf's published file: cpu-funcN, mem-funcN, replicas-funcN and concurrency-funcN
// are the action of function N. Then a block of ten columns for each function begins with its name (the header has
// "func1", "fucn2" and so on there), its resources and its metrics under headers that repeat. The window's outcome ends the line;
// qps is the number of users.
func (p *parser) published() error {
	l, n := p.l, len(publishedFunctions)
	const block = 10 // columns of a function's measurements
	p.workflow, l.Functions, p.first = sizing.Parallel, publishedFunctions, [4]int{-1, -1, -1, -1}
	components := []string{"cpu", "mem", "replicas", "concurrency"}
	if want := n*len(components) + n*block + len(publishedInfo); len(p.header) != want {
		return p.bad(1, "the published file has %d columns, this one %d", want, len(p.header))
	}
	for i, h := range p.header[:n*len(components)] {
		c, _, ok := strings.Cut(h, "-func")
		if !ok || c != components[i%len(components)] {
			return p.bad(1, "column %d is %q, want %s-func%d", i+1, h, components[i%len(components)], i/len(components)+1)
		}
		p.action = append(p.action, i)
	}
	for _, c := range components {
		l.Actions = append(l.Actions, Column{publishedActions[c], "of its range"})
		l.Features = append(l.Features, Column{"last " + publishedActions[c], "of its range"})
	}
	for _, f := range publishedFeature {
		l.Features = append(l.Features, Column{f.ours, f.unit})
	}
	l.Features = append(l.Features, Column{"load", "users"})
	users := slices.Index(p.header, "qps")
	for f := range n {
		for c := range components {
			p.feature = append(p.feature, f*len(components)+c)
		}
		from := n*len(components) + f*block
		for _, m := range publishedFeature {
			i := slices.Index(p.header[from:from+block], m.theirs)
			if i < 0 {
				return p.bad(1, "there is no column %q among those from %d to %d", m.theirs, from+1, from+block)
			}
			p.feature = append(p.feature, from+i)
		}
		p.feature = append(p.feature, users)
	}
	for _, q := range publishedInfo {
		i := slices.Index(p.header, q.theirs)
		if i < 0 {
			return p.bad(1, "there is no column %q", q.theirs)
		}
		l.Info = append(l.Info, Column{q.ours, q.unit})
		p.window = append(p.window, i)
	}
	p.first[1] = users
	return nil
}

// first are the columns before the numbers.
var first = []string{"workflow", "users", "seed", "window"}

// actionPrefix begins the columns of actions: action.FUNCTION.COMPONENT.
const actionPrefix = "action."

// Header returns the names of a file's columns: workflow, users, seed and window; action.FUNCTION.COMPONENT for each
// component of each function's action; FUNCTION.FEATURE for what each function sees after the window; and the
// quantities of the window. Units stand behind the names, in brackets.
func (l *Layout) Header() []string {
	out := append([]string{}, first...)
	add := func(prefix string, c Column) {
		if c.Unit != "" {
			c.Name += " [" + c.Unit + "]"
		}
		out = append(out, prefix+c.Name)
	}
	for _, f := range l.Functions {
		for _, c := range l.Actions {
			add(actionPrefix+f+".", c)
		}
	}
	for _, f := range l.Functions {
		for _, c := range l.Features {
			add(f+".", c)
		}
	}
	for _, c := range l.Info {
		add("", c)
	}
	return out
}

// Write writes rows as CSV. Numbers have all the digits that they need to be read back as they are.
func (l *Library) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	out := csv.NewWriter(b)
	if err := out.Write(l.Header()); err != nil {
		return err
	}
	line := make([]string, 0, len(l.Header()))
	for i := range l.Rows {
		r := &l.Rows[i]
		if strings.TrimSpace(r.Workflow) == "" {
			return fmt.Errorf("row %d has no workflow", i)
		}
		line = append(line[:0], r.Workflow, strconv.Itoa(r.Users), strconv.FormatUint(r.Seed, 10), strconv.Itoa(r.Window))
		for _, x := range r.Action {
			line = append(line, strconv.FormatFloat(float64(x), 'g', -1, 32))
		}
		for _, x := range r.Observation {
			line = append(line, strconv.FormatFloat(float64(x), 'g', -1, 32))
		}
		for _, x := range r.Info {
			line = append(line, strconv.FormatFloat(x, 'g', -1, 64))
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return err
	}
	return b.Flush()
}
