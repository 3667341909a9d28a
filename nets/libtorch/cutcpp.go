package libtorch

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// cppPart is a piece of gotch's C++ at the top level of a file: a function, a declaration or a typedef, or lines that
// belong to none (name is empty) and stay.
type cppPart struct {
	name    string
	text    string
	defined bool // it has a body
}

var (
	cppName   = regexp.MustCompile(`(\w+)\s*\(`)
	cppWord   = regexp.MustCompile(`[A-Za-z_]\w*`)
	cppStays  = regexp.MustCompile(`^(using|extern|namespace|thread_local)\b`)
	cppStarts = regexp.MustCompile(`^[A-Za-z_]`)
)

// splitCpp takes a file apart. gotch starts everything at the top level, and nothing else, in the first column.
// Comments and blank lines there are left out.
func splitCpp(text string) []*cppPart {
	var parts []*cppPart
	rows := strings.SplitAfter(text, "\n")
	for i := 0; i < len(rows); {
		first := i
		row := strings.TrimRight(rows[i], " \r\n")
		i++
		switch {
		case row == "" || strings.HasPrefix(row, "//"):
			continue
		case strings.HasPrefix(row, "/*"):
			for !strings.Contains(rows[i-1], "*/") && i < len(rows) {
				i++
			}
			continue
		case strings.HasPrefix(row, "#"):
			for strings.HasSuffix(strings.TrimRight(rows[i-1], " \r\n"), `\`) && i < len(rows) {
				i++
			}
		case cppStarts.MatchString(row) && !cppStays.MatchString(row):
			for !closed(strings.Join(rows[first:i], "")) && i < len(rows) {
				i++
			}
			parts = append(parts, named(strings.Join(rows[first:i], "")))
			continue
		}
		parts = append(parts, &cppPart{text: strings.Join(rows[first:i], "")})
	}
	return parts
}

// closed says whether a declaration is over: its braces closed, or a semicolon and no brace.
func closed(text string) bool {
	open := strings.Count(text, "{")
	if open > 0 {
		return open == strings.Count(text, "}")
	}
	code, _, _ := strings.Cut(text[strings.LastIndex(strings.TrimRight(text, "\n"), "\n")+1:], "//")
	return strings.HasSuffix(strings.TrimSpace(code), ";")
}

// named finds a declaration's name: before the first parenthesis, or at the end of a typedef.
func named(text string) *cppPart {
	p := &cppPart{text: text, defined: strings.Contains(text, "{")}
	if strings.HasPrefix(text, "typedef") {
		words := cppWord.FindAllString(text, -1)
		p.name = words[len(words)-1]
	} else if m := cppName.FindStringSubmatch(text); m != nil {
		p.name = m[1]
	}
	return p
}

// headers replace torch/torch.h and whatever else gotch includes: they hold all that the kept functions need, and take
// half the time to compile.
const headers = "#include <torch/types.h>\n#include <torch/cuda.h>\n"

// cppText is a file of the cut copy, and which part stands at which row.
type cppText struct {
	text string
	rows []string // names, by row counted from 0
}

// at is the function around a row, counted from 1; empty where there is none.
func (c cppText) at(row int) string {
	if row < 1 || row > len(c.rows) {
		return ""
	}
	return c.rows[row-1]
}

// cutCpp keeps of gotch's C and C++ files what the called names reach. Every C function among them must have a body.
func cutCpp(files map[string]string, called []string) (map[string]cppText, error) {
	byName := map[string][]*cppPart{}
	split := map[string][]*cppPart{}
	for _, file := range sortedNames(files) {
		split[file] = splitCpp(files[file])
		for _, p := range split[file] {
			if p.name != "" {
				byName[p.name] = append(byName[p.name], p)
			}
		}
	}
	for _, name := range called {
		parts := byName[name]
		if len(parts) > 0 && !strings.HasPrefix(parts[0].text, "typedef") &&
			!slices.ContainsFunc(parts, func(p *cppPart) bool { return p.defined }) {
			return nil, fmt.Errorf("gotch %s declares %s and has no body for it", GotchVersion, name)
		}
	}
	kept := reach(called, byName, func(p *cppPart) []string { return cppWord.FindAllString(p.text, -1) })
	out := map[string]cppText{}
	for file, parts := range split {
		c := cppText{text: cutNotice + "\n", rows: []string{""}}
		for _, p := range parts {
			text := p.text
			if p.name == "" {
				text = include(text, file)
			} else if !kept[p] {
				continue
			}
			c.text += text
			for range strings.Count(text, "\n") {
				c.rows = append(c.rows, p.name)
			}
		}
		out[file] = c
	}
	return out, nil
}

// include leaves the standard library and gotch's own headers of what a file includes. libtorch's headers are
// replaced, once, and images are not read here.
func include(line, file string) string {
	target, ok := strings.CutPrefix(line, "#include ")
	switch {
	case strings.HasPrefix(line, "#define STB_"):
		return ""
	case !ok:
		return line
	case file == apiHeader && strings.HasPrefix(target, "<torch/torch.h>"):
		return headers
	case strings.Contains(target, "/") || strings.HasPrefix(target, `"stb_`):
		return ""
	}
	return line
}

// An error is reported either in gotch's text, or in a header with a trail that leads back to it ("required from
// here").
var (
	errorLine = regexp.MustCompile(`(?m)^(?:In file included from )?([^\s:]+):(\d+):(?:\d+:)?\s+(?:fatal )?(error:|required from)`)
	anyError  = regexp.MustCompile(`(?m)^.*: (?:fatal )?error: .*$`)
)

// refused names the functions of the copy that a compiler complains about.
func refused(output string, texts map[string]cppText) []string {
	var names []string
	for _, m := range errorLine.FindAllStringSubmatch(output, -1) {
		row, err := strconv.Atoi(m[2])
		if err != nil {
			continue
		}
		name := texts[m[1][strings.LastIndex(m[1], "/")+1:]].at(row)
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// firstErrors are the compiler's own words, shortened for a message.
func firstErrors(output string, n int) string {
	found := anyError.FindAllString(output, -1)
	if len(found) == 0 {
		return lastLines(output, n)
	}
	return strings.Join(found[:min(n, len(found))], "\n")
}
