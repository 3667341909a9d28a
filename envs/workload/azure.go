package workload

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Files of the Azure Functions 2019 trace (Shahrad et al., "Serverless in the Wild", ATC'20; schema in
// Azure/AzurePublicDataset, AzureFunctionsDataset2019.md). The publisher's columns are HashOwner, HashApp,
// HashFunction, Trigger, 1…1440. In-Vitro's samples (vhive-serverless/invitro) have no Trigger and call the minutes
// minute_1…minute_1440. Columns are found by their names.

// Invocations is a row of an invocations file: one function on one day.
type Invocations struct {
	Owner, App, Name, Trigger string
	// Counts holds the invocations of each minute. The next row overwrites it.
	Counts []uint32
	// Line is the row's line in the file.
	Line int
}

// InvocationReader reads an invocations file row by row. Its memory grows with the number of different identifiers, not
// with the length of the file.
type InvocationReader struct {
	t       *table
	minutes int
}

// maxMinutes is the most minutes a file may have: two weeks.
const maxMinutes = 14 * 1440

// NewInvocationReader reads the header. Error messages call the file by the name file.
func NewInvocationReader(r io.Reader, file string) (*InvocationReader, error) {
	ir := &InvocationReader{}
	seen := map[int]bool{}
	t, err := newTable(r, file, func(name string) (int, error) {
		switch name {
		case "HashOwner":
			return owner, nil
		case "HashApp":
			return app, nil
		case "HashFunction":
			return function, nil
		case "Trigger":
			return trigger, nil
		}
		digits := strings.TrimPrefix(name, "minute_")
		if digits == "" || strings.Trim(digits, "0123456789") != "" {
			return ignored, nil
		}
		m, err := strconv.Atoi(digits)
		if err != nil || m < 1 || m > maxMinutes {
			return 0, fmt.Errorf("minutes from 1 to %d", maxMinutes)
		}
		if seen[m] {
			return 0, errors.New("each minute once")
		}
		seen[m] = true
		ir.minutes = max(ir.minutes, m)
		return m - 1, nil
	}, "HashOwner", "HashApp", "HashFunction")
	if err != nil {
		return nil, err
	}
	if ir.minutes == 0 {
		return nil, t.s.failRow("the header has no minutes", "columns 1, 2, … or minute_1, minute_2, …")
	}
	for m := 1; m <= ir.minutes; m++ {
		if !seen[m] {
			return nil, t.s.failRow(fmt.Sprintf("the header has minute %d but not minute %d", ir.minutes, m),
				"every minute from 1 on")
		}
	}
	ir.t = t
	return ir, nil
}

// Minutes returns the number of minutes in a row.
func (r *InvocationReader) Minutes() int { return r.minutes }

// Next reads the next row, and returns io.EOF after the last.
func (r *InvocationReader) Next(row *Invocations) error {
	if cap(row.Counts) < r.minutes {
		row.Counts = make([]uint32, r.minutes)
	}
	row.Counts = row.Counts[:r.minutes]
	row.Trigger = ""
	return r.t.row(&row.Line, func(role int, f []byte) (err error) {
		switch role {
		case owner:
			row.Owner, err = r.t.id(f)
		case app:
			row.App, err = r.t.id(f)
		case function:
			row.Name, err = r.t.id(f)
		case trigger:
			row.Trigger = r.t.intern(f)
		default:
			row.Counts[role], err = r.t.s.count(f)
		}
		return err
	})
}

// Durations is a row of a durations file.
type Durations struct {
	Owner, App, Name string
	Duration         Duration
	// Negative says that the row had negative times and that the reader corrected them: negative bounds and percentiles
	// become 0, and a negative average becomes the mean of the percentiles. The publisher knows of these rows: a clock
	// was wrong while the data was collected (Azure/AzurePublicDataset issue 13).
	Negative bool
	Line     int
}

// DurationReader reads a durations file row by row.
type DurationReader struct{ t *table }

var durationColumns = []string{"Average", "Count", "Minimum", "Maximum", "percentile_Average_0", "percentile_Average_1",
	"percentile_Average_25", "percentile_Average_50", "percentile_Average_75", "percentile_Average_99",
	"percentile_Average_100"}

// NewDurationReader reads the header. Error messages call the file by the name file.
func NewDurationReader(r io.Reader, file string) (*DurationReader, error) {
	t, err := newStatsTable(r, file, durationColumns, "HashOwner", "HashApp", "HashFunction")
	return &DurationReader{t}, err
}

// Next reads the next row, and returns io.EOF after the last.
func (r *DurationReader) Next(row *Durations) error {
	*row = Durations{}
	d := &row.Duration
	var count float64
	values := [...]*float64{&d.Average, &count, &d.Minimum, &d.Maximum, &d.P0, &d.P1, &d.P25, &d.P50, &d.P75, &d.P99,
		&d.P100}
	var missing [len(values)]bool
	err := r.t.row(&row.Line, func(role int, f []byte) (err error) {
		switch {
		case role == owner:
			row.Owner, err = r.t.id(f)
		case role == app:
			row.App, err = r.t.id(f)
		case role == function:
			row.Name, err = r.t.id(f)
		case len(f) == 0 && (role == 2 || role == 3):
			missing[role] = true // some versions of the runtime recorded no minimum and maximum (publisher's note 6)
		default:
			if *values[role], err = r.t.s.number(f, "a number of milliseconds"); err == nil && role == 1 {
				err = r.t.s.whole(f, count)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	d.Samples = uint64(count)
	if missing[2] {
		d.Minimum = d.P0
	}
	if missing[3] {
		d.Maximum = d.P100
	}
	row.Negative = d.correct()
	return nil
}

// correct replaces negative times and reports whether there were any.
func (d *Duration) correct() bool {
	negative := d.Average < 0
	for _, x := range []*float64{&d.Minimum, &d.Maximum, &d.P0, &d.P1, &d.P25, &d.P50, &d.P75, &d.P99, &d.P100} {
		if *x < 0 {
			*x, negative = 0, true
		}
	}
	if d.Average < 0 {
		d.Average = d.quantileMean()
	}
	return negative
}

// quantileMean returns the mean of the distribution whose quantile function is linear between the percentiles.
func (d *Duration) quantileMean() float64 {
	p := [...]float64{0, 0.01, 0.25, 0.5, 0.75, 0.99, 1}
	q := [...]float64{d.P0, d.P1, d.P25, d.P50, d.P75, d.P99, d.P100}
	var mean float64
	for i := 1; i < len(p); i++ {
		mean += float64((p[i] - p[i-1]) * (q[i] + q[i-1]) / 2)
	}
	return mean
}

// Memories is a row of a memory file: one application.
type Memories struct {
	Owner, App string
	Memory     Memory
	Line       int
}

// MemoryReader reads a memory file row by row.
type MemoryReader struct{ t *table }

var memoryColumns = []string{"SampleCount", "AverageAllocatedMb", "AverageAllocatedMb_pct1", "AverageAllocatedMb_pct5",
	"AverageAllocatedMb_pct25", "AverageAllocatedMb_pct50", "AverageAllocatedMb_pct75", "AverageAllocatedMb_pct95",
	"AverageAllocatedMb_pct99", "AverageAllocatedMb_pct100"}

// NewMemoryReader reads the header. Error messages call the file by the name file.
func NewMemoryReader(r io.Reader, file string) (*MemoryReader, error) {
	t, err := newStatsTable(r, file, memoryColumns, "HashOwner", "HashApp")
	return &MemoryReader{t}, err
}

// Next reads the next row, and returns io.EOF after the last.
func (r *MemoryReader) Next(row *Memories) error {
	*row = Memories{}
	m := &row.Memory
	var count float64
	values := [...]*float64{&count, &m.Average, &m.P1, &m.P5, &m.P25, &m.P50, &m.P75, &m.P95, &m.P99, &m.P100}
	err := r.t.row(&row.Line, func(role int, f []byte) (err error) {
		switch role {
		case owner:
			row.Owner, err = r.t.id(f)
		case app:
			row.App, err = r.t.id(f)
		case function:
		default:
			if *values[role], err = r.t.s.number(f, "a number of MB from 0 up"); err != nil {
				return err
			}
			if role == 0 {
				return r.t.s.whole(f, count)
			}
			if *values[role] < 0 {
				err = r.t.s.fail("it is "+show(f), "a number of MB from 0 up")
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	m.Samples = uint64(count)
	return nil
}

// whole checks that a number of samples x is an integer. Files of both publishers have some written as 12.0.
func (s *scanner) whole(f []byte, x float64) error {
	if x < 0 || x > 1<<53 || x != float64(uint64(x)) {
		return s.fail("the count is "+show(f), "a whole number from 0 up")
	}
	return nil
}

// newStatsTable reads a header with numbered columns and identifiers.
func newStatsTable(r io.Reader, file string, columns []string, ids ...string) (*table, error) {
	roles := map[string]int{"HashOwner": owner, "HashApp": app, "HashFunction": function}
	for i, c := range columns {
		roles[c] = i
	}
	return newTable(r, file, func(name string) (int, error) {
		if k, ok := roles[name]; ok {
			return k, nil
		}
		return ignored, nil
	}, append(ids, columns...)...)
}
