package calibrate

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// actionColumns and metricColumns are the numbers of columns of a function in the two parts of the file.
const (
	actionColumns = 4
	metricColumns = 10
	lastColumns   = 6
)

// Fit is the regression ln p75 = A + B·ln(cpu/1000) + C·ln(replicas) + D·ln(concurrency) of a function's latency in
// seconds, and the standard deviation of its residuals.
type Fit struct {
	Function   string
	A, B, C, D float64
	Residual   float64
}

// P75 returns the regression's 75th percentile of the latency in seconds.
func (f *Fit) P75(cpu, replicas, concurrency int) float64 {
	return math.Exp(f.A + float64(f.B*math.Log(float64(cpu)/1000)) + float64(f.C*math.Log(float64(replicas))) +
		float64(f.D*math.Log(float64(concurrency))))
}

// FaaSConfFit returns the regression over FaaSConf's published measurements of Parallel under 10 users (1,299
// configurations).
func FaaSConfFit() []Fit {
	return []Fit{
		{"starter", 1.244, -1.467, -0.638, 0.299, 0.33},
		{"rgb", 1.195, -1.427, -0.635, 0.202, 0.34},
		{"resize", 0.937, -1.250, -0.496, 0.119, 0.31},
		{"update", 0.865, -1.180, -0.427, 0.078, 0.29},
		{"resnet", 2.146, -1.446, -0.486, 0.143, 0.29},
		{"mobilenet", 1.591, -1.398, -0.557, 0.165, 0.28},
	}
}

// Measured is one row of FaaSConf's published measurements: a 30 s window of one configuration under closed-loop users.
type Measured struct {
	Functions []MeasuredFunction
	// Latency and P95 are the mean and the 95th percentile of the successful requests' end-to-end latency, in seconds.
	Latency, P95 float64
	// Successes and Requests count the successful and all requests that ended within the window.
	Successes, Requests int
	// Price is in USD per hour. Users is the number of closed-loop users.
	Price float64
	Users int
}

// MeasuredFunction is one function's part of a row.
type MeasuredFunction struct {
	Name string
	// Action is the normalised configuration: cpu, memory, replicas, concurrency in [0, 1].
	Action [4]float64
	// CPU in millicores, Memory in MB and Replicas are the configuration that the action stands for.
	CPU, Memory, Replicas int
	// UsedCPU (percent of a core), Throttled (periods), UsedMemory (percent of the limit) and Received (bytes per second)
	// are means over the function's instances.
	UsedCPU, Throttled, UsedMemory, Received float64
	// P75 and P95 of the function's own latency in seconds.
	P75, P95 float64
}

// ReadFaaSConf reads measurements in the format of FaaSConf's data/parallel_10.csv: a header, then per row the
// functions' actions, the functions' metrics, and the window's results. The number of functions follows from the number
// of columns. Errors name line and column.
func ReadFaaSConf(r io.Reader) ([]Measured, error) {
	c := csv.NewReader(r)
	head, err := c.Read()
	if err != nil {
		return nil, fmt.Errorf("reading the header of the measurements: %w", err)
	}
	n := (len(head) - lastColumns) / (actionColumns + metricColumns)
	if n < 1 || len(head) != n*(actionColumns+metricColumns)+lastColumns {
		return nil, fmt.Errorf("the measurements have %d columns, want %d for each function and %d more",
			len(head),
			actionColumns+metricColumns, lastColumns)
	}
	var out []Measured
	for {
		fields, err := c.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("measurements: %w", err)
		}
		p := rowParser{csv: c, head: head, fields: fields}
		m := p.row(n)
		if p.err != nil {
			return nil, p.err
		}
		out = append(out, m)
	}
}

// rowParser reads a row's fields in order and records the first error.
type rowParser struct {
	csv    *csv.Reader
	head   []string
	fields []string
	at     int
	err    error
}

func (p *rowParser) text() string { p.at++; return p.fields[p.at-1] }

func (p *rowParser) number() float64 {
	s := p.text()
	x, err := strconv.ParseFloat(s, 64)
	if (err != nil || x-x != 0) && p.err == nil {
		line, column := p.csv.FieldPos(p.at - 1)
		p.err = fmt.Errorf("measurements: line %d, column %d (%s) is %q, want a number", line, column,
			p.head[p.at-1], s)
	}
	return x
}

func (p *rowParser) row(n int) Measured {
	m := Measured{Functions: make([]MeasuredFunction, n)}
	for i := range m.Functions {
		for j := range m.Functions[i].Action {
			m.Functions[i].Action[j] = p.number()
		}
	}
	for i := range m.Functions {
		f := &m.Functions[i]
		f.Name = p.text()
		f.CPU, f.Memory, f.Replicas = int(p.number()), int(p.number()), int(p.number())
		f.UsedCPU, f.Throttled, f.UsedMemory, f.Received = p.number(), p.number(), p.number(), p.number()
		f.P75, f.P95 = p.number(), p.number()
	}
	m.Latency, m.P95 = p.number(), p.number()
	m.Successes, m.Requests = int(p.number()), int(p.number())
	m.Price, m.Users = p.number(), int(p.number())
	return m
}
