package workload

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

func longFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trace.csv")
	must.Do(t, os.WriteFile(file, []byte(text), 0o666))
	return file
}

// Rows of one minute are pooled, minutes without a row are zero, rows may come in any order and with other columns.
func TestLongForm(t *testing.T) {
	file := longFile(t, "\ufeffcount,timestamp,region,function\n"+
		"3,2026-01-31T12:02:10+01:00,eu,resize\n1.4,1769857210,eu,resize\n0.2,1769857239.5,eu,resize\n7,1769857440,eu,notify\n")
	tr := must.Get(ReadTrace(file, ReadOptions{}))(t)
	if tr.Minutes != 5 || len(tr.Functions) != 2 || tr.Functions[0].Name != "resize" ||
		!slices.Equal(tr.Functions[0].Counts, []uint32{2, 0, 3, 0, 0}) ||
		!slices.Equal(tr.Functions[1].Counts, []uint32{0, 0, 0, 0, 7}) {
		t.Errorf("%d minutes, %+v", tr.Minutes, tr.Functions)
	}
	total, err := ReadTrace(file, ReadOptions{Total: true, Functions: Filter{Names: []string{"resize"}}})
	if err != nil || !slices.Equal(total.Functions[0].Counts, []uint32{2, 0, 3, 0, 0}) {
		t.Errorf("resize alone: %+v, %v", total, err)
	}
	c, err := ReadContents(file, ReadOptions{})
	if err != nil || !slices.Equal(c.PerMinute, []uint64{2, 0, 3, 0, 7}) || len(c.Functions) != 2 || len(c.Report.Missing) > 0 {
		t.Errorf("contents %+v, %v", c, err)
	}
	w := Default()
	w.Path = file
	s, err := Open(w)
	if err != nil || s.Minutes() != 5 || s.Expected(0, 4) != 7 {
		t.Errorf("the workload: %v", err)
	}
}

// Without a column for the function all rows are one.
func TestLongFormOfOne(t *testing.T) {
	tr, err := ReadTrace(longFile(t, "timestamp,count\r\n60,1\r\n120,2\r\n"), ReadOptions{})
	if err != nil || len(tr.Functions) != 1 || !slices.Equal(tr.Functions[0].Counts, []uint32{1, 2}) {
		t.Errorf("%+v, %v", tr, err)
	}
}

func TestLongFormWrong(t *testing.T) {
	const head = "timestamp,function,count\n"
	for _, c := range []struct{ text, want string }{
		{"time,function,count\n",
			`1: the header has no column "HashOwner", want the columns HashOwner, HashApp, HashFunction, or timestamp, function, count`},
		{"timestamp,function\n", `1: the header has no column "count", want the columns timestamp, count`},
		{head, "there is no row below the header"},
		{head + "60,f,1\nnoon,f,1\n", `trace.csv:3: column 1 (timestamp): it is "noon", want a time such as`},
		{head + "1769857440000,f,1\n", "in milliseconds or less, it seems, want a time such as"},
		{head + "60,f,x\n", `trace.csv:2: column 3 (count): it is "x", want a number of requests`},
		{head + "60,f,-1\n", "want a number of requests, from 0"},
		{head + "60,,1\n", "trace.csv:2: column 2 (function): it is empty"},
		{head + "60,f\n", "trace.csv:2: the row has 2 fields, want 3"},
		{head + "60,f,1\n60,g,1\n60,f,2\n", "trace.csv:4: function f has a row of this time already, in line 2, want one row"},
		{head + "60,f,1\n99999960,f,1\n", "the timestamps go from 1970-01-01T00:01:00Z to 1973-"},
		{head + "60,f,4294967295\n61,f,1\n", "has 4.294967296e+09 requests in this minute"},
	} {
		_, err := ReadTrace(longFile(t, c.text), ReadOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want one with %q", c.text, err, c.want)
		}
	}
}
