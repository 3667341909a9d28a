package workload

import (
	"errors"
	"io"
)

// statistics reads the durations and the memory of all days. Averages and percentiles of several days are averaged,
// weighted by their numbers of samples; for percentiles this is an approximation.
func (l *loader) statistics(days []dayFiles) error {
	fs := l.t.Functions
	for _, d := range days {
		if d.run != "" {
			day := map[int]Duration{}
			if err := l.durations(d.run, day); err != nil {
				return err
			}
			for i, x := range day {
				fs[i].Duration.add(x)
			}
		}
		if d.mem != "" {
			day := map[int]Memory{}
			if err := l.memories(d.mem, day); err != nil {
				return err
			}
			for i, x := range day {
				fs[i].Memory.add(x)
			}
		}
	}
	r := &l.t.Report
	for i := range fs {
		if fs[i].Duration.Samples == 0 {
			r.MissingDurations++
			r.note("function %.12s… has no durations", fs[i].Name)
		}
		if fs[i].Memory.Samples == 0 {
			r.MissingMemory++
			r.note("function %.12s… has no memory: nothing is known of its application %.12s…", fs[i].Name, fs[i].App)
		}
	}
	return nil
}

func (l *loader) durations(name string, day map[int]Duration) error {
	r := &l.t.Report
	return l.open(name, func(rd io.Reader, file string) error {
		dr, err := NewDurationReader(rd, file)
		if err != nil {
			return err
		}
		var row Durations
		for {
			if err := dr.Next(&row); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			i, ok := l.index[key{row.Owner, row.App, row.Name}]
			if !ok || i < 0 {
				continue
			}
			if row.Negative {
				r.NegativeDurations++
				r.note("%s:%d: negative durations of function %.12s… were corrected", file, row.Line, row.Name)
			}
			old, again := day[i]
			if again {
				r.RepeatedDurations++
				r.note("%s:%d: durations of function %.12s… again; the row with more samples is kept", file, row.Line, row.Name)
			}
			if !again || row.Duration.Samples > old.Samples {
				day[i] = row.Duration
			}
		}
	})
}

func (l *loader) memories(name string, day map[int]Memory) error {
	r := &l.t.Report
	return l.open(name, func(rd io.Reader, file string) error {
		mr, err := NewMemoryReader(rd, file)
		if err != nil {
			return err
		}
		var row Memories
		for {
			if err := mr.Next(&row); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			of := l.apps[key{row.Owner, row.App, ""}]
			if len(of) == 0 {
				continue
			}
			old, again := day[of[0]]
			if again {
				r.RepeatedMemory++
				r.note("%s:%d: memory of application %.12s… again; the row with more samples is kept", file, row.Line, row.App)
			}
			if !again || row.Memory.Samples > old.Samples {
				for _, i := range of {
					day[i] = row.Memory
				}
			}
		}
	})
}

// add merges the statistics of another day.
func (d *Duration) add(o Duration) {
	if o.Samples == 0 {
		return
	}
	if d.Samples == 0 {
		*d = o
		return
	}
	d.Minimum, d.Maximum = min(d.Minimum, o.Minimum), max(d.Maximum, o.Maximum)
	mix(d.Samples, o.Samples, []*float64{&d.Average, &d.P0, &d.P1, &d.P25, &d.P50, &d.P75, &d.P99, &d.P100},
		[]float64{o.Average, o.P0, o.P1, o.P25, o.P50, o.P75, o.P99, o.P100})
	d.Samples += o.Samples
}

// add merges the statistics of another day.
func (m *Memory) add(o Memory) {
	if o.Samples == 0 {
		return
	}
	if m.Samples == 0 {
		*m = o
		return
	}
	mix(m.Samples, o.Samples, []*float64{&m.Average, &m.P1, &m.P5, &m.P25, &m.P50, &m.P75, &m.P95, &m.P99, &m.P100},
		[]float64{o.Average, o.P1, o.P5, o.P25, o.P50, o.P75, o.P95, o.P99, o.P100})
	m.Samples += o.Samples
}

// mix averages the values of to and from, weighted by a and b samples, into to.
func mix(a, b uint64, to []*float64, from []float64) {
	share := float64(b) / (float64(a) + float64(b))
	for i, x := range to {
		*x += float64(share * (from[i] - *x))
	}
}
