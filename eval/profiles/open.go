// Package profiles stands between measurements and models. [Fit] fits laws of execution time over memory to measured runs
// of functions: every law's error, the chosen one, what the papers' fit would have given, figures and CSV. [Replay] says
// how many runs a law needs, at the sizes that Parrotfish chooses and at even ones. [Check] predicts mean, percentiles and
// cost of a whole application and compares them with measured requests.
//
// The laws are in package memory, prices in package bill, graphs in package workflow; the command is stoker profile.
package profiles

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/envs/workflow/asl"
)

// Source says what an application's file does not: how it is deployed.
type Source struct {
	// Choices are those of an application's file, see [FromApp].
	Choices map[string]string
	// Machine is for a state machine.
	Machine Machine
}

// Machine is what a state machine in the Amazon States Language does not say.
type Machine struct {
	// Functions is a file that [ReadDeployed] reads, Facts one that [asl.ReadFacts] reads.
	Functions, Facts string
	// Percent reads choices as percentages ([asl.Options]).
	Percent bool
	// Tariff is one of [Tariffs].
	Tariff        string
	Orchestration bill.Orchestration
	Delays        workflow.Delays
}

// DefaultSource has AWS's present prices and the delays that were measured on Step Functions.
func DefaultSource() Source {
	return Source{Machine: Machine{Tariff: "lambda", Orchestration: bill.None, Delays: workflow.StepFunctions(workflow.Once)}}
}

// tariffs are the prices of functions by name.
var tariffs = map[string]func() bill.Tariff{"lambda": bill.Lambda, "lambda100": bill.Lambda100, "table": bill.LambdaTable}

// Tariffs returns the names of the prices: lambda (steps of 1 ms), lambda100 (steps of 100 ms) and table (SLApp's printed
// prices per 100 ms).
func Tariffs() []string { return slices.Sorted(maps.Keys(tariffs)) }

// Open reads an application's file, or a state machine's: a file whose name ends in .json and that has StartAt.
func Open(path string, s Source) (*Subject, error) {
	text, err := os.ReadFile(path)
	if err == nil && strings.HasSuffix(path, ".json") && bytes.Contains(text, []byte(`"StartAt"`)) {
		if len(s.Choices) > 0 {
			return nil, fmt.Errorf("a state machine has no options to choose from: its functions' sizes are in their file")
		}
		return s.Machine.open(path, text)
	}
	if s.Machine.Functions != "" || s.Machine.Facts != "" || s.Machine.Percent {
		return nil, fmt.Errorf("%s is no state machine (JSON with StartAt): functions, facts and percentages are in an "+
			"application's file itself", path)
	}
	m, err := configs.ReadApp(path)
	if err != nil {
		return nil, err
	}
	return FromApp(m, s.Choices)
}

func (m *Machine) open(path string, text []byte) (*Subject, error) {
	price, ok := tariffs[m.Tariff]
	if !ok {
		return nil, fmt.Errorf("no tariff %q, there are %s", m.Tariff, strings.Join(Tariffs(), ", "))
	}
	if err := m.Orchestration.Validate(); err != nil {
		return nil, cut(err, "bill: ")
	}
	if m.Functions == "" {
		return nil, fmt.Errorf("%s: a state machine says nothing about its functions' times: name a file of them", path)
	}
	o := asl.Options{Percent: m.Percent}
	if m.Facts != "" {
		var err error
		if o.Facts, err = read(m.Facts, asl.ReadFacts); err != nil {
			return nil, err
		}
	}
	deployed, err := read(m.Functions, ReadDeployed)
	if err != nil {
		return nil, err
	}
	machine, err := asl.Read(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, cut(err, "asl: "))
	}
	flow, err := machine.Workflow(o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, cut(err, "asl: "))
	}
	s, err := FromMachine(flow, deployed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if s.Name == "" {
		s.Name, _, _ = strings.Cut(filepath.Base(path), ".")
	}
	s.Delays, s.Tariff, s.Orchestration = m.Delays, price(), m.Orchestration
	for _, d := range s.Functions {
		if m.Tariff == "table" && !d.Fixed && (d.MB < 128 || d.MB > 3008) {
			return nil, fmt.Errorf("%s: function %s has %g MB, for which the tariff table has no price: want 128 to 3008 MB",
				m.Functions, d.Name, d.MB)
		}
	}
	return s, nil
}

// OpenRequests reads measured requests from one file, or durations from the first and costs from the second.
func OpenRequests(path, costs string) (Requests, error) {
	out, err := read(path, ReadRequests)
	if err != nil {
		return out, err
	}
	if len(out.Seconds) == 0 {
		return out, fmt.Errorf("%s: there is no column for the duration", path)
	}
	if costs == "" {
		return out, nil
	}
	more, err := read(costs, ReadRequests)
	if err != nil {
		return out, err
	}
	if len(more.USD) == 0 {
		return out, fmt.Errorf("%s: there is no column for the cost, want usd or usd_per_million", costs)
	}
	out.USD = more.USD
	return out, nil
}

// read opens a file and names it in errors.
func read[T any](path string, f func(io.Reader) (T, error)) (out T, err error) {
	file, err := os.Open(path)
	if err != nil {
		return out, err
	}
	defer file.Close()
	if out, err = f(file); err != nil {
		return out, fmt.Errorf("%s: %w", path, cut(err, "facts: "))
	}
	return out, nil
}

// cut removes a package's name before an error that gets a file's name.
func cut(err error, prefix string) error {
	if text, found := strings.CutPrefix(err.Error(), prefix); found {
		return fmt.Errorf("%s", text)
	}
	return err
}

// Requests are measured executions of a whole workflow, in the order of the file.
type Requests struct {
	Seconds []float64
	// USD is what a million executions like each one would cost: its functions' bills. Empty where they were not measured.
	USD []float64
}

// ReadRequests reads requests from a CSV file with a header: a duration, in milliseconds ("duration", "ms") or seconds
// ("seconds"), and a cost in USD per execution ("usd") or a million executions ("usd_per_million", "1m_exe_cost"). A file
// may have one of both. Errors name line and column.
func ReadRequests(r io.Reader) (Requests, error) {
	var out Requests
	c := csv.NewReader(r)
	head, err := c.Read()
	if err != nil {
		return out, fmt.Errorf("reading the header: %w", err)
	}
	t := columns(head)
	seconds, scale, noTime := t.duration()
	usd, million := t.find("usd_per_million", "1m_exe_cost"), 1.0
	if usd < 0 {
		usd, million = t.find("usd", "cost"), 1e6
	}
	if noTime != nil && usd < 0 {
		return out, fmt.Errorf("%w, or one for the cost, named usd or usd_per_million", noTime)
	}
	err = rows(c, func(_ []string, number func(int) (float64, error)) error {
		if noTime == nil {
			x, err := number(seconds)
			if err != nil {
				return err
			}
			if x *= scale; !(x > 0) {
				return fmt.Errorf("column %d: a duration of %g s, want a positive number", seconds+1, x)
			}
			out.Seconds = append(out.Seconds, x)
		}
		if usd >= 0 {
			x, err := number(usd)
			if err != nil {
				return err
			}
			if x < 0 {
				return fmt.Errorf("column %d: a cost of %g USD, want a number from 0", usd+1, x)
			}
			out.USD = append(out.USD, x*million)
		}
		return nil
	})
	return out, err
}

// columns are the names of a CSV file's columns, lower case.
type columnNames []string

func columns(head []string) columnNames {
	out := make(columnNames, len(head))
	for i, name := range head {
		out[i] = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")))
	}
	return out
}

// find returns the column that has the first of the names that is there, or -1.
func (t columnNames) find(names ...string) int {
	for _, n := range names {
		if i := slices.Index(t, n); i >= 0 {
			return i
		}
	}
	return -1
}

func (t columnNames) want(what string, names ...string) (int, error) {
	if i := t.find(names...); i >= 0 {
		return i, nil
	}
	return -1, fmt.Errorf("line 1: no column for the %s among %q: want one named %q", what, []string(t), names[0])
}

// duration returns the column of times, and what makes seconds of them.
func (t columnNames) duration() (column int, scale float64, err error) {
	if i := t.find("seconds", "duration_s", "s"); i >= 0 {
		return i, 1, nil
	}
	i, err := t.want("duration", "ms", "duration", "duration_ms", "milliseconds")
	return i, 1e-3, err
}

// rows calls f for each row, with a function that reads a number. Errors get the line. No rows are an error.
func rows(c *csv.Reader, f func(row []string, number func(column int) (float64, error)) error) error {
	for n := 0; ; n++ {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			if n == 0 {
				return errors.New("the file has a header and no rows")
			}
			return nil
		}
		if err != nil {
			return err
		}
		line, _ := c.FieldPos(0)
		err = f(row, func(i int) (float64, error) {
			x, err := strconv.ParseFloat(strings.TrimSpace(row[i]), 64)
			if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
				return 0, fmt.Errorf("column %d: %q is no number", i+1, row[i])
			}
			return x, nil
		})
		if err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}
