package library

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
)

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
