package libtorch

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A gap is a function of gotch's bindings that a libtorch has no counterpart
// for, or one with other arguments.
type gap struct {
	file string // base name
	name string // the C function: atg_align_as
}

// An error is reported either in gotch's text, or in a header with a trail
// that leads back to it ("required from here").
var (
	errorLine = regexp.MustCompile(`(?m)^(?:In file included from )?([^\s:]+):(\d+):(?:\d+:)?\s+(?:fatal )?(error:|required from)`)
	anyError  = regexp.MustCompile(`(?m)^.*: (?:fatal )?error: .*$`)
	signature = regexp.MustCompile(`^(?:[A-Za-z_][\w:<> ]*[\s*&]+)(at[a-z]?_\w+)\(`)
)

// errorLines collects, for one file, the lines that a compiler complains about.
func errorLines(output, base string) []int {
	var lines []int
	for _, m := range errorLine.FindAllStringSubmatch(output, -1) {
		if !strings.HasSuffix(m[1], "/"+base) && m[1] != base {
			continue
		}
		if n, err := strconv.Atoi(m[2]); err == nil && !slices.Contains(lines, n) {
			lines = append(lines, n)
		}
	}
	slices.Sort(lines)
	return lines
}

// stub replaces the bodies of the functions around the given lines (counted
// from 1) by one that throws what reason says, so that calling one becomes an
// error of that call. It returns the new text and the functions' names.
// A line outside of gotch's C functions is an error: that cannot be left out.
func stub(text string, lines []int, reason func(name string) string) (string, []string, error) {
	rows := strings.SplitAfter(text, "\n")
	var names []string
	done := 0
	var out strings.Builder
	for _, n := range lines {
		if n-1 < done {
			continue // in a function that was replaced already
		}
		first, open, last, name := enclosing(rows, n-1)
		if name == "" {
			return "", nil, fmt.Errorf("line %d is in no function of the bindings", n)
		}
		for _, row := range rows[done : open+1] {
			out.WriteString(row)
		}
		fmt.Fprintf(&out, "  PROTECT(throw std::runtime_error(%s);)\n", strconv.Quote(reason(name)))
		if result := resultOf(rows[first], name); result != "" {
			fmt.Fprintf(&out, "  return %s;\n", result)
		}
		done = last
		names = append(names, name)
	}
	for _, row := range rows[done:] {
		out.WriteString(row)
	}
	return out.String(), names, nil
}

// enclosing finds the function around a row: the row its signature starts in,
// the one its body opens in, and the one that closes it. gotch's text starts
// and closes functions, and nothing else, in the first column.
func enclosing(rows []string, at int) (first, open, last int, name string) {
	if at >= len(rows) {
		return 0, 0, 0, ""
	}
	first = at
	for first >= 0 && !signature.MatchString(rows[first]) {
		if first != at && strings.HasPrefix(rows[first], "}") {
			return 0, 0, 0, ""
		}
		first--
	}
	if first < 0 {
		return 0, 0, 0, ""
	}
	open = first
	for open < len(rows) && !strings.HasSuffix(strings.TrimRight(rows[open], " \r\n"), "{") {
		open++
	}
	last = open
	for last < len(rows) && !strings.HasPrefix(rows[last], "}") {
		last++
	}
	if last >= len(rows) || at > last {
		return 0, 0, 0, ""
	}
	return first, open, last, signature.FindStringSubmatch(rows[first])[1]
}

// resultOf is what a replaced function returns, none where it returns nothing.
func resultOf(row, name string) string {
	kind, _, _ := strings.Cut(row, name)
	switch kind = strings.TrimSpace(kind); {
	case kind == "void":
		return ""
	case strings.HasSuffix(kind, "*"), slices.Contains([]string{"tensor", "scalar", "optimizer", "module", "ivalue"}, kind):
		return "nullptr"
	}
	return "0"
}

// operation is the name that users of libtorch know a binding by.
func (g gap) operation() string { return strings.TrimPrefix(g.name, "atg_") }

// firstErrors are the compiler's own words, shortened for a message.
func firstErrors(output string, n int) string {
	found := anyError.FindAllString(output, -1)
	if len(found) == 0 {
		return lastLines(output, n)
	}
	return strings.Join(found[:min(n, len(found))], "\n")
}
