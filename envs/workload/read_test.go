package workload

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stoker-rl/stoker/internal/must"
)

func folder(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

const (
	invD1 = "invocations_per_function_md.anon.d01.csv"
	invD2 = "invocations_per_function_md.anon.d02.csv"
	runD1 = "function_durations_percentiles.anon.d01.csv"
	runD2 = "function_durations_percentiles.anon.d02.csv"
	memD1 = "app_memory_percentiles.anon.d01.csv"
	memD2 = "app_memory_percentiles.anon.d02.csv"
)

// twoDays has f1 and f2 on the first day, f2 and f3 on the second.
func twoDays() map[string]string {
	return map[string]string{
		invD1: "HashOwner,HashApp,HashFunction,Trigger,1,2\no,a,f1,http,1,2\no,b,f2,timer,0,3\n",
		invD2: "HashOwner,HashApp,HashFunction,Trigger,1,2\no,b,f2,timer,5,0\no,c,f3,queue,7,7\n",
		runD1: runHeader + "o,a,f1,10,4,1,20,1,1,5,10,15,20,20\no,b,f2,30,1,30,30,30,30,30,30,30,30,30\n",
		runD2: runHeader + "o,b,f2,10,3,5,60,10,10,10,10,10,10,10\n",
		memD1: memHeader + "o,a,9,100,1,2,3,4,5,6,7,8\no,b,9,200,1,2,3,4,5,6,7,8\n",
	}
}

func TestReadDays(t *testing.T) {
	tr := must.Get(readTrace(folder(twoDays()), "dir", ReadOptions{}))(t)
	if tr.Minutes != 4 || len(tr.Functions) != 3 || tr.Total() != 25 {
		t.Fatalf("%d minutes, %d functions, %d invocations; want 4, 3, 25", tr.Minutes, len(tr.Functions), tr.Total())
	}
	for i, want := range [][]uint32{{1, 2, 0, 0}, {0, 3, 5, 0}, {0, 0, 7, 7}} {
		if f := tr.Functions[i]; !slices.Equal(f.Counts, want) {
			t.Errorf("%s has counts %v, want %v", f.Name, f.Counts, want)
		}
	}
	// f2 over both days: one sample of 30 ms and three of 10 ms.
	if d := tr.Functions[1].Duration; d.Samples != 4 || !nearly(d.Average, 15) || !nearly(d.P50, 15) || d.Minimum != 5 ||
		d.Maximum != 60 {
		t.Errorf("durations over both days are %+v", d)
	}
	if f := tr.Functions[2]; f.Trigger != "queue" || f.Duration.Samples != 0 || f.Memory.Samples != 0 {
		t.Errorf("f3 is %+v", f)
	}
	if r := tr.Report; r.MissingDurations != 1 || r.MissingMemory != 1 || len(r.Notes) != 2 ||
		r.String() != "1 functions without durations, 1 functions without memory" {
		t.Errorf("the report is %+v: %s", r, r.String())
	}
	if got := tr.PerMinute(nil); !slices.Equal(got, []uint64{1, 5, 12, 7}) {
		t.Errorf("per minute %v", got)
	}
	// The second day alone, and both the other way round.
	if tr, err := readTrace(folder(twoDays()), "dir", ReadOptions{Days: []int{2, 1}}); err != nil ||
		!slices.Equal(tr.PerMinute(nil), []uint64{12, 7, 1, 5}) {
		t.Errorf("days 2 and 1: %v (%v)", tr, err)
	}
}

func TestReadNarrowed(t *testing.T) {
	names := func(tr *Trace) (out []string) {
		for _, f := range tr.Functions {
			out = append(out, f.Name)
		}
		return out
	}
	for _, c := range []struct {
		filter Filter
		want   []string
		total  []uint64
	}{
		{Filter{Names: []string{"f2", "f3"}}, []string{"f2", "f3"}, []uint64{0, 3, 12, 7}},
		{Filter{Triggers: []string{"http"}}, []string{"f1"}, []uint64{1, 2, 0, 0}},
		{Filter{Top: 2}, []string{"f2", "f3"}, []uint64{0, 3, 12, 7}},
		{Filter{Top: 1, Names: []string{"f1", "f2"}}, []string{"f2"}, []uint64{0, 3, 5, 0}},
		{Filter{Top: 9}, []string{"f1", "f2", "f3"}, []uint64{1, 5, 12, 7}},
	} {
		tr, err := readTrace(folder(twoDays()), "dir", ReadOptions{Functions: c.filter})
		if err != nil || !slices.Equal(names(tr), c.want) {
			t.Errorf("%v: %v (%v), want %v", c.filter, tr, err, c.want)
			continue
		}
		if len(tr.Report.Files) != 5 {
			t.Errorf("%v: read %v", c.filter, tr.Report.Files)
		}
		// The same by selecting afterwards, and in total.
		all := must.Get(readTrace(folder(twoDays()), "dir", ReadOptions{}))(t)
		if sel, err := all.Select(c.filter); err != nil || !slices.Equal(names(sel), c.want) {
			t.Errorf("%v selects %v (%v), want %v", c.filter, sel, err, c.want)
		}
		sum, err := readTrace(folder(twoDays()), "dir", ReadOptions{Functions: c.filter, Total: true})
		if err != nil || len(sum.Functions) != 1 || !slices.Equal(sum.PerMinute(nil), c.total) {
			t.Errorf("%v: the total is %v (%v), want %v", c.filter, sum, err, c.total)
		}
		if s, err := tr.Sum(); err != nil || !reflect.DeepEqual(s.Functions, sum.Functions) {
			t.Errorf("%v: summed afterwards it is %v (%v)", c.filter, s, err)
		}
	}
	for _, total := range []bool{false, true} {
		if _, err := readTrace(folder(twoDays()), "dir",
			ReadOptions{Functions: Filter{Names: []string{"x"}}, Total: total}); err == nil ||
			!strings.Contains(err.Error(), "workload.functions") {
			t.Errorf("a filter that keeps nothing: %v", err)
		}
	}
}

func TestReadFolderErrors(t *testing.T) {
	sample := map[string]string{"50_inv.csv": sampleInv, "100_inv.csv": sampleInv}
	with := func(name, text string) map[string]string {
		files := twoDays()
		if files[name] = text; text == "" {
			delete(files, name)
		}
		return files
	}
	for name, c := range map[string]struct {
		files map[string]string
		o     ReadOptions
		want  string
	}{
		"empty folder": {nil, ReadOptions{}, `workload.path is "dir", want a folder with the publisher's files`},
		"other files": {map[string]string{"notes.txt": "x", runD1: runHeader}, ReadOptions{},
			"want " + invD1 + " beside " + runD1},
		"no file of invocations": {map[string]string{"notes.txt": "x"}, ReadOptions{}, "no file of invocations is there"},
		"which sample":           {sample, ReadOptions{}, "workload.sample is 0, want one of those in dir: 50, 100"},
		"no such sample":         {sample, ReadOptions{Sample: 7}, "workload.sample is 7, want one of those in dir: 50, 100"},
		"days of a sample":       {sample, ReadOptions{Sample: 50, Days: []int{1}}, "workload.days is [1], want none"},
		"sample of days":         {twoDays(), ReadOptions{Sample: 50}, "workload.sample is 50, want 0"},
		"no such day": {twoDays(), ReadOptions{Days: []int{1, 3}},
			"workload.days is 3, want one of those in dir: 1, 2"},
		"a gap": {map[string]string{invD1: originalInv, "invocations_per_function_md.anon.d03.csv": originalInv},
			ReadOptions{}, "holds day 1 and day 3 but not day 2"},
		"a function twice": {with(invD2, "HashOwner,HashApp,HashFunction,1\no,a,f,1\no,a,g,1\no,a,f,1\n"), ReadOptions{},
			"dir/" + invD2 + ":4: function f… has a row already, in line 2"},
		"no rows": {with(invD1, "HashOwner,HashApp,HashFunction,1\n"), ReadOptions{},
			"dir/" + invD1 + ": there is no row below the header"},
		"a day without invocations": {with(invD1, ""), ReadOptions{Days: []int{1}}, "want " + invD1 + " beside " + runD1},
		"broken durations": {with(runD2, runHeader+"o,b,f2,10,3,5"), ReadOptions{},
			"dir/" + runD2 + ":2: the row has 6 fields"},
		"broken memory": {with(memD1, "x\n"), ReadOptions{}, "dir/" + memD1 + `:1: the header has no column "HashOwner"`},
		"not gzip":      {map[string]string{"50_inv.csv.gz": "plain"}, ReadOptions{}, "dir/50_inv.csv.gz"},
		"too many a minute": {
			map[string]string{"50_inv.csv": "HashOwner,HashApp,HashFunction,1\no,a,f,4294967295\no,a,g,1\n"},
			ReadOptions{Total: true}, "4294967296 invocations in minute 0",
		},
	} {
		if _, err := readTrace(folder(c.files), "dir", c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want %s", name, err, c.want)
		}
	}
	dir := t.TempDir()
	var fe *FieldError
	if _, err := ReadTrace(filepath.Join(dir, "none"), ReadOptions{}); !errors.As(err, &fe) || fe.Field != "path" ||
		!strings.Contains(err.Error(), "no such folder") {
		t.Errorf("a folder that is not there: %v", err)
	}
	file := filepath.Join(dir, "50_inv.csv")
	must.Do(t, os.WriteFile(file, []byte(sampleInv), 0o600))
	if tr, err := ReadTrace(file, ReadOptions{}); err != nil || tr.Total() != 3+4294967295 || tr.Name != file {
		t.Errorf("a file in place of a folder: %v", err)
	}
	if tr, err := ReadTrace(dir, ReadOptions{}); err != nil || tr.Total() != 3+4294967295 {
		t.Errorf("a folder with one sample: %v", err)
	}
}

// What a folder lacks is named: files beside those of invocations, empty ones, and days in which nothing happens.
func TestMissing(t *testing.T) {
	oneDay := "HashOwner,HashApp,HashFunction,1\no,a,f,1\n"
	some := twoDays()
	delete(some, memD1)
	delete(some, runD2)
	quiet := twoDays()
	quiet[invD2] = "HashOwner,HashApp,HashFunction,1,2\no,a,f1,0,0\n"
	empty := map[string]string{"50_inv.csv": oneDay, "50_run.csv": "", "50_mem.csv": ""}
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"whole":         {with2(memD2), []string{}},
		"files":         {some, []string{memD1, runD2, memD2}},
		"quiet day":     {quiet, []string{memD2, invD2 + " (no invocation in it)"}},
		"empty files":   {empty, []string{"50_run.csv (empty)", "50_mem.csv (empty)"}},
		"of a sample":   {map[string]string{"50_inv.csv": oneDay}, []string{"50_run.csv", "50_mem.csv"}},
		"under one day": {map[string]string{"invocations.csv": oneDay}, []string{"durations.csv", "memory.csv"}},
	} {
		tr, err := readTrace(folder(c.files), "dir", ReadOptions{Total: true})
		if err != nil || !slices.Equal(tr.Report.Missing, c.want) {
			t.Errorf("%s: %v, %v; want %v", name, tr, err, c.want)
		}
	}
	// Without Total the durations are read, and an empty file of them is an error that names it.
	if _, err := readTrace(folder(empty), "dir", ReadOptions{}); err == nil ||
		!strings.Contains(err.Error(), "dir/50_run.csv: the file is empty") {
		t.Errorf("an empty file of durations: %v", err)
	}
}

// One file is read with the files beside it that belong to it, and alone where its name says nothing.
func TestReadFile(t *testing.T) {
	for only, want := range map[string]struct {
		total uint64
		files int
		text  string
	}{
		invD2: {files: 2}, runD1: {text: invD1}, "50_inv.csv": {files: 1}, "counts.csv": {files: 1},
		"none.csv": {text: "none.csv"},
	} {
		files := twoDays()
		files["50_inv.csv"], files["counts.csv"] = sampleInv, sampleInv
		tr, err := readTrace(folder(files), "dir", ReadOptions{only: only})
		switch {
		case want.text != "":
			if err == nil || !strings.Contains(err.Error(), want.text) {
				t.Errorf("%s: %v, want an error with %s", only, err, want.text)
			}
		case err != nil || len(tr.Report.Files) != want.files:
			t.Errorf("%s: read %v, %v; want %d files", only, tr, err, want.files)
		}
	}
}

// with2 is the two days with one more file, a copy of the first day's memory.
func with2(name string) map[string]string {
	files := twoDays()
	files[name] = files[memD1]
	return files
}

// What the publisher's files are known to have wrong is mended and reported.
func TestReadMended(t *testing.T) {
	files := twoDays()
	files[runD1] += "o,a,f1,99,7,1,20,1,1,5,99,15,20,20\no,a,f1,98,2,1,20,1,1,5,98,15,20,20\n" +
		"o,x,unknown,1,1,1,1,1,1,1,1,1,1,1\n"
	files[runD2] = runHeader + "o,b,f2,-5,1,-5,30,0,0,10,10,10,30,30\n"
	files[memD1] += "o,a,99,500,1,2,3,4,5,6,7,8\n"
	tr := must.Get(readTrace(folder(files), "dir", ReadOptions{}))(t)
	f1 := tr.Functions[0]
	if f1.Duration.Average != 99 || f1.Memory.Average != 500 {
		t.Errorf("of repeated rows %v ms and %v MB were kept, want those with more samples, 99 and 500", f1.Duration.Average,
			f1.Memory.Average)
	}
	if r := tr.Report; r.RepeatedDurations != 2 || r.RepeatedMemory != 1 || r.NegativeDurations != 1 ||
		!slices.ContainsFunc(r.Notes, func(n string) bool {
			return strings.HasPrefix(n,
				"dir/"+runD1+":4: durations of function f1")
		}) {
		t.Errorf("the report is %+v", r)
	}
}

func TestReadCompressedAndPlainNames(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	must.Get(w.Write([]byte(sampleInv)))(t)
	must.Do(t, w.Close())
	for _, files := range []map[string]string{
		{"7_inv.csv.gz": z.String()}, {"invocations.csv": sampleInv},
		{"7_inv.csv.gz": "broken, but the plain file goes first", "7_inv.csv": sampleInv},
	} {
		if tr, err := readTrace(folder(files), "dir", ReadOptions{}); err != nil || tr.Total() != 3+4294967295 {
			t.Errorf("%v: %v", files, err)
		}
	}
	cut := folder(map[string]string{"7_inv.csv.gz": z.String()[:z.Len()-10]})
	if _, err := readTrace(cut, "dir", ReadOptions{}); err == nil || !strings.Contains(err.Error(), "dir/7_inv.csv.gz") {
		t.Errorf("a file cut short: %v", err)
	}
}
