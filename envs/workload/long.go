package workload

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The long form of a trace has a row for each function and time: columns timestamp (RFC 3339, or seconds since 1970),
// function (may be missing) and count, in any order, rows in any order. Times within a minute are pooled; minutes without
// a row are zero.

// maxLong is the most minutes between the first and the last row of a trace in the long form: a year.
const maxLong = 366 * 1440

// longForm says how a file in the long form looks.
const longForm = "timestamp, function, count (a row for each function and minute)"

// isLong reports whether a file's header is that of the long form.
func isLong(b *bufio.Reader) bool {
	line, _ := b.Peek(4096)
	first, _, _ := strings.Cut(strings.TrimPrefix(string(line), "\ufeff"), "\n")
	for name := range strings.SplitSeq(first, ",") {
		if strings.Trim(strings.TrimSpace(name), `"`) == "timestamp" {
			return true
		}
	}
	return false
}

// sample is a row of the long form.
type sample struct {
	at    int64 // microseconds since 1970
	count float64
	line  int
}

// Roles of its columns; the function's is that of the other form.
const (
	longTime = iota
	longCount
)

// readLong reads a trace in the long form and calls fn for each function, in the order of the file. It returns the number
// of minutes. Two rows of a function at one time are an error: an export that was appended twice looks so.
func readLong(r io.Reader, file string, fn func(k key, row *Invocations) error) (minutes int, err error) {
	t, err := newTable(r, file, func(name string) (int, error) {
		switch name {
		case "timestamp":
			return longTime, nil
		case "count":
			return longCount, nil
		case "function":
			return function, nil
		}
		return ignored, nil
	}, "timestamp", "count")
	if err != nil {
		return 0, err
	}
	var names []string
	samples := map[string][]sample{}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for {
		name, s := "all", sample{}
		err := t.row(&s.line, func(role int, f []byte) (err error) {
			switch role {
			case longTime:
				s.at, err = t.s.time(f)
			case longCount:
				if s.count, err = t.s.number(f, "a number of requests, from 0"); err == nil && s.count < 0 {
					err = t.s.fail("it is "+show(f), "a number of requests, from 0")
				}
			default:
				name, err = t.id(f)
			}
			return err
		})
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
		if samples[name] == nil {
			names = append(names, name)
		}
		samples[name] = append(samples[name], s)
		first, last = min(first, minuteOf(s.at)), max(last, minuteOf(s.at))
	}
	if len(names) == 0 {
		return 0, &ParseError{File: file, What: "there is no row below the header", Want: "a row for each function and minute"}
	}
	if last-first >= maxLong {
		return 0, &ParseError{File: file, What: fmt.Sprintf("the timestamps go from %s to %s", text(first), text(last)),
			Want: "at most 366 days"}
	}
	minutes = int(last-first) + 1
	row := Invocations{Counts: make([]uint32, minutes)}
	for _, name := range names {
		if err := pool(samples[name], first, row.Counts, file, name); err != nil {
			return 0, err
		}
		row.Name, row.Line = name, samples[name][0].line
		if err := fn(key{name: name}, &row); err != nil {
			return 0, err
		}
		samples[name] = nil
	}
	return minutes, nil
}

// pool adds a function's samples up by minutes from first, and rounds.
func pool(samples []sample, first int64, counts []uint32, file, name string) error {
	slices.SortFunc(samples, func(a, b sample) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.line, b.line)) })
	clear(counts)
	for i := 0; i < len(samples); {
		minute, sum := minuteOf(samples[i].at), 0.0
		for ; i < len(samples) && minuteOf(samples[i].at) == minute; i++ {
			if i > 0 && samples[i].at == samples[i-1].at {
				return &ParseError{File: file, Line: samples[i].line, What: fmt.Sprintf("function %s has a row of this time already, "+
					"in line %d", name, samples[i-1].line), Want: "one row for each function and time (add the counts of instances)"}
			}
			sum += samples[i].count
		}
		if sum = math.Round(sum); sum > math.MaxUint32 {
			return &ParseError{File: file, Line: samples[i-1].line, What: fmt.Sprintf("function %s has %g requests in this minute",
				name, sum), Want: fmt.Sprintf("at most %d", uint32(math.MaxUint32))}
		}
		counts[minute-first] = uint32(sum)
	}
	return nil
}

// minuteOf is the minute since 1970 in which a time falls.
func minuteOf(at int64) int64 {
	m := at / Minute
	if at%Minute < 0 {
		m--
	}
	return m
}

func text(minute int64) string { return time.Unix(60*minute, 0).UTC().Format(time.RFC3339) }

// time reads a time in microseconds since 1970.
func (s *scanner) time(f []byte) (int64, error) {
	const want = "a time such as 2026-01-31T12:00:00Z, or seconds since 1970"
	if t, err := time.Parse(time.RFC3339, string(f)); err == nil {
		return t.UnixMicro(), nil
	}
	x, err := strconv.ParseFloat(string(f), 64)
	switch {
	case err != nil || math.IsNaN(x) || math.IsInf(x, 0):
		return 0, s.fail("it is "+show(f), want)
	case math.Abs(x) > 1e11:
		return 0, s.fail("it is "+show(f)+", in milliseconds or less, it seems", want)
	}
	return int64(math.Round(x * 1e6)), nil
}
