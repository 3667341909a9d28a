package workload

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

const (
	originalInv = "HashOwner,HashApp,HashFunction,Trigger,1,2,3\no1,a1,f1,http,1,0,2\no1,a1,f2,timer,0,0,4294967295\n"
	sampleInv   = "HashFunction,HashApp,HashOwner,minute_1,minute_2,minute_3\r\n" +
		"\"f1\",a1,o1,1,0,2\r\nf2,a1,o1,0,0,4294967295\r\n"
	runHeader = "HashOwner,HashApp,HashFunction,Average,Count,Minimum,Maximum,percentile_Average_0," +
		"percentile_Average_1," +
		"percentile_Average_25,percentile_Average_50,percentile_Average_75,percentile_Average_99,percentile_Average_100\n"
	memHeader = "HashOwner,HashApp,SampleCount,AverageAllocatedMb,AverageAllocatedMb_pct1,AverageAllocatedMb_pct5," +
		"AverageAllocatedMb_pct25," +
		"AverageAllocatedMb_pct50,AverageAllocatedMb_pct75,AverageAllocatedMb_pct95,AverageAllocatedMb_pct99," +
		"AverageAllocatedMb_pct100\n"
)

func TestInvocations(t *testing.T) {
	for name, file := range map[string]string{
		"original":      originalInv,
		"sample":        sampleInv,
		"mark":          "\ufeff" + originalInv,
		"other order":   "3,HashFunction,1,HashOwner,2,note,HashApp\n2,f1,1,o1,0,,a1\n4294967295,f2,0,o1,0,x,a1",
		"quoted header": strings.Replace(originalInv, "HashOwner", `"HashOwner"`, 1),
	} {
		r, err := NewInvocationReader(strings.NewReader(file), "f.csv")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var row Invocations
		var got []string
		for err = r.Next(&row); err == nil; err = r.Next(&row) {
			got = append(got, fmt.Sprint(row.Owner, row.App, row.Name, row.Counts, row.Line))
		}
		want := []string{"o1a1f1[1 0 2] 2", "o1a1f2[0 0 4294967295] 3"}
		if !errors.Is(err, io.EOF) || r.Minutes() != 3 || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %d minutes, rows %v (%v), want %v", name, r.Minutes(), got, err, want)
		}
	}
}

// readAll reads an invocations file to its end.
func readInvocations(r io.Reader) error {
	ir, err := NewInvocationReader(r, "f.csv")
	var row Invocations
	for err == nil {
		err = ir.Next(&row)
	}
	return err
}

func readDurations(r io.Reader) (rows []Durations, err error) {
	dr, err := NewDurationReader(r, "f.csv")
	var row Durations
	for err == nil {
		if err = dr.Next(&row); err == nil {
			rows = append(rows, row)
		}
	}
	return rows, err
}

func readMemory(r io.Reader) (rows []Memories, err error) {
	mr, err := NewMemoryReader(r, "f.csv")
	var row Memories
	for err == nil {
		if err = mr.Next(&row); err == nil {
			rows = append(rows, row)
		}
	}
	return rows, err
}

func TestInvocationsRefused(t *testing.T) {
	with := func(counts string) string { return "HashOwner,HashApp,HashFunction,1,2\no,a,f," + counts }
	for in, want := range map[string]string{
		"": "f.csv: the file is empty, want a header with the columns HashOwner, " +
			"HashApp, HashFunction",
		"\n\n":                               "f.csv: the file is empty",
		"HashOwner,HashApp,1\n":              `f.csv:1: the header has no column "HashFunction", want the columns`,
		"HashOwner,HashApp,HashFunction\n":   "f.csv:1: the header has no minutes, want columns 1, 2",
		"HashOwner,HashApp,HashFunction,1,3": "f.csv:1: the header has minute 3 but not minute 2",
		"HashOwner,HashApp,HashFunction,0,1": `f.csv:1: column 4: the header has "0", want minutes from 1 to 20160`,
		"HashOwner,HashApp,HashFunction,1,1": `f.csv:1: column 5: the header names "1" again, ` +
			`first in column 4, want each column once`,
		"HashOwner,HashApp,HashFunction,1,minute_1": `f.csv:1: column 5: the header has "minute_1", want each minute once`,
		with("1,-1"): `f.csv:2: column 5 (2): the count is "-1", ` +
			`want a whole number from 0 to 4294967295`,
		with("1,NaN"):                     `f.csv:2: column 5 (2): the count is "NaN"`,
		with("1.5,2"):                     `f.csv:2: column 4 (1): the count is "1.5"`,
		with("1,"):                        `f.csv:2: column 5 (2): the count is ""`,
		with("1,4294967296"):              `f.csv:2: column 5 (2): the count is "4294967296"`,
		with("1,99999999999999999999999"): `f.csv:2: column 5 (2): the count is "99999999999999999999999"`,
		with("1"):                         "f.csv:2: the row has 4 fields, want 5, as the header",
		with("1,2,3"):                     "f.csv:2: the row has 6 fields, want 5, as the header",
		"HashOwner,HashApp,HashFunction,1\no,,f,1": "f.csv:2: column 2 (HashApp): it is empty, want an identifier",
	} {
		err := readInvocations(strings.NewReader(in))
		if err == nil || errors.Is(err, io.EOF) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %s", in, err, want)
		}
		var pe *ParseError
		if !errors.As(err, &pe) || pe.File != "f.csv" {
			t.Errorf("%q: the error is a %T without its place", in, err)
		}
	}
}

func TestDurations(t *testing.T) {
	rows, err := readDurations(strings.NewReader(runHeader +
		"o,a,f,49,2,8.0,90.0,8,8,8,8,90,90,90\no,a,g,5,1,,,4,5,5,5,5,5,6\n"))
	if !errors.Is(err, io.EOF) || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if want := (Duration{Samples: 2, Average: 49, Minimum: 8, Maximum: 90, P0: 8, P1: 8, P25: 8, P50: 8, P75: 90, P99: 90,
		P100: 90}); rows[0].Duration != want {
		t.Errorf("read %+v, want %+v", rows[0].Duration, want)
	}
	// Extremes that were not recorded are those of the percentiles.
	if d := rows[1].Duration; d.Minimum != 4 || d.Maximum != 6 || rows[1].Negative {
		t.Errorf("read %+v", rows[1])
	}
	// The publisher's negative times are mended and reported: the average is that of the percentiles, by hand
	// .01*(0+100)/2 + .24*100 + .25*(100+200)/2 + .25*200 + .24*200 + .01*(200+400)/2 = 163.
	rows, err = readDurations(strings.NewReader(runHeader + "o,a,f,-41692,2,-1027768,400,-3,100,100,200,200,200,400\n"))
	if !errors.Is(err, io.EOF) || !rows[0].Negative || rows[0].Duration.Minimum != 0 || rows[0].Duration.P0 != 0 ||
		!nearly(rows[0].Duration.Average, 163) {
		t.Errorf("read %+v (%v)", rows, err)
	}
	for in, want := range map[string]string{
		"": "f.csv: the file is empty",
		"HashOwner,HashApp,HashFunction,Average\n": `f.csv:1: the header has no column "Count"`,
		runHeader + "o,a,f,x,2,8,90,8,8,8,8,90,90,90": `f.csv:2: column 4 (Average): it is "x", ` +
			`want a number of milliseconds`,
		runHeader + "o,a,f,NaN,2,8,90,8,8,8,8,90,90,90": `f.csv:2: column 4 (Average): it is "NaN"`,
		runHeader + "o,a,f,1,2,8,Inf,8,8,8,8,90,90,90":  `f.csv:2: column 7 (Maximum): it is "Inf"`,
		runHeader + "o,a,f,1,2.5,8,9,8,8,8,8,90,90,90":  `f.csv:2: column 5 (Count): the count is "2.5", want a whole number`,
		runHeader + "o,a,f,1,-2,8,9,8,8,8,8,90,90,90":   `f.csv:2: column 5 (Count): the count is "-2"`,
		runHeader + "o,a,f,1,2,8,9,8,8,8,8,90,90,":      `f.csv:2: column 14 (percentile_Average_100): it is ""`,
		runHeader + "o,a,f,1,2,8":                       "f.csv:2: the row has 6 fields, want 14",
	} {
		if _, err := readDurations(strings.NewReader(in)); err == nil || errors.Is(err, io.EOF) ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %s", in, err, want)
		}
	}
}

func TestMemory(t *testing.T) {
	rows, err := readMemory(strings.NewReader(memHeader + "o,a,3,10,1,2,3,4,5,6,7,8\n"))
	if !errors.Is(err, io.EOF) || len(rows) != 1 || rows[0].Memory != (Memory{3, 10, 1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("read %+v (%v)", rows, err)
	}
	for in, want := range map[string]string{
		"x": `f.csv:1: the header has no column "HashOwner"`,
		memHeader + "o,a,3,10,1,2,3,4,5,6,7,-8": `f.csv:2: column 12 (AverageAllocatedMb_pct100): it is "-8", ` +
			`want a number of MB from 0 up`,
		memHeader + "o,a,3,nan,1,2,3,4,5,6,7,8": `f.csv:2: column 4 (AverageAllocatedMb): it is "nan"`,
	} {
		if _, err := readMemory(strings.NewReader(in)); err == nil || errors.Is(err, io.EOF) ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %s", in, err, want)
		}
	}
}

func nearly(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

func FuzzReadInvocations(f *testing.F) {
	f.Add([]byte(originalInv))
	f.Add([]byte(sampleInv))
	f.Add([]byte("HashOwner,HashApp,HashFunction,2,1\n\"o\",\"a\n\",f,,-1"))
	f.Fuzz(func(t *testing.T, in []byte) {
		if err := readInvocations(strings.NewReader(string(in))); err == nil || !errors.Is(err, io.EOF) &&
			!strings.HasPrefix(err.Error(), "f.csv") {
			t.Fatalf("the error does not say where: %v", err)
		}
	})
}

func FuzzReadDurations(f *testing.F) {
	f.Add([]byte(runHeader + "o,a,f,49,2,8.0,90.0,8,8,8,8,90,90,90\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		rows, err := readDurations(strings.NewReader(string(in)))
		if err == nil || !errors.Is(err, io.EOF) && !strings.HasPrefix(err.Error(), "f.csv") {
			t.Fatalf("the error does not say where: %v", err)
		}
		for _, r := range rows {
			if d := r.Duration; !(d.Average >= 0 && d.Minimum >= 0 && d.P50 >= 0) {
				t.Fatalf("a negative time came through: %+v", d)
			}
		}
	})
}

func FuzzReadMemory(f *testing.F) {
	f.Add([]byte(memHeader + "o,a,3,10,1,2,3,4,5,6,7,8\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		if _, err := readMemory(strings.NewReader(string(in))); err == nil || !errors.Is(err, io.EOF) &&
			!strings.HasPrefix(err.Error(), "f.csv") {
			t.Fatalf("the error does not say where: %v", err)
		}
	})
}

// bigFile yields a file in the publisher's format without holding it: rows functions of a day each.
type bigFile struct {
	rows, row int
	rest      []byte
	line      []byte
}

func (b *bigFile) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		if b.row > b.rows {
			return 0, io.EOF
		}
		b.line = b.line[:0]
		if b.row == 0 {
			b.line = append(b.line, "HashOwner,HashApp,HashFunction,Trigger"...)
		} else {
			b.line = fmt.Appendf(b.line, "%064x,%064x,%064x,http", b.row%50, b.row%100, b.row)
		}
		for m := range day {
			if b.row == 0 {
				b.line = fmt.Appendf(b.line, ",%d", m+1)
			} else {
				b.line = append(b.line, ',', byte('0'+(b.row*m)%10))
			}
		}
		b.line = append(b.line, '\n')
		b.row++
		b.rest = b.line
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// Reading keeps identifiers, not rows: for 2,000 functions (6 MB of text, most of which the test itself formats) it
// allocates far less than the file holds, and a handful of times a row.
func TestReadingStreams(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if err := readInvocations(&bigFile{rows: 2000}); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 3<<20 {
		t.Errorf("reading allocated %d bytes in all, want under 3 MiB", n)
	}
	if n := after.Mallocs - before.Mallocs; n > 2000*8+20000 {
		t.Errorf("reading made %d allocations for 2,000 rows", n)
	}
}

func BenchmarkReadInvocations(b *testing.B) {
	b.ReportAllocs()
	var file strings.Builder
	must.Get(io.Copy(&file, &bigFile{rows: 200}))(b)
	b.SetBytes(int64(file.Len()))
	for b.Loop() {
		if err := readInvocations(strings.NewReader(file.String())); !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
	}
}
