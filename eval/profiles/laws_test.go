package profiles_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/perfmodel"
	"github.com/stoker-rl/stoker/eval/profiles"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/realdata"
)

// requestRows are requests of a law, alone and with others, whose times vary by plus and minus a fifth.
func requestRows(l perfmodel.Law) string {
	var b strings.Builder
	b.WriteString("Function,cores,in_flight,seconds\n")
	for _, cpu := range []float64{250, 500, 1000, 2000} {
		for _, n := range []float64{1, 2, 4} {
			for i := range 4 {
				fmt.Fprintf(&b, "thumb,%g,%g,%g\n", cpu/1000, n, l.Seconds(cpu, n)*(0.8+0.4*float64(i%2)))
			}
		}
	}
	return b.String()
}

func TestFitLaws(t *testing.T) {
	truth := perfmodel.Law{Work: 0.4, Parallel: 0.9, Overhead: 0.15, Crowding: 0.1}
	r := must.Get(profiles.FitLaws(strings.NewReader(requestRows(truth)), "requests.csv"))(t)
	f := r.Functions[0]
	if f.Name != "thumb" || f.Rows != 48 || len(f.Settings) != 12 || len(f.Untold) != 1 || f.Untold[0].Parameter != "idle" {
		t.Errorf("%s: %d rows, %d settings, not told %+v; want thumb, 48, 12, idle", f.Name, f.Rows, len(f.Settings), f.Untold)
	}
	for _, x := range [][2]float64{{f.Law.Work, 0.4}, {f.Law.Parallel, 0.9}, {f.Law.Overhead, 0.15}, {f.Law.Crowding, 0.1},
		{f.Law.CV, 0.2 * math.Sqrt(4./3)}} {
		if math.Abs(x[0]/x[1]-1) > 0.01 {
			t.Errorf("fitted %g, want %g in %+v", x[0], x[1], f.Law)
		}
	}
	dir := t.TempDir()
	files := must.Get(profiles.WriteLaws(dir, r))(t)
	for _, name := range files {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	text := profiles.LawsText(r)
	for _, want := range []string{"left out", "idle is not told by these measurements",
		"env:\n  laws:\n    - {function: thumb, work: 0.4,"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text has no %q:\n%s", want, text)
		}
	}
}

// Windows give instances, rate and mean time; memory becomes that of an idle instance, windows without requests are left out.
func TestFitLawsOfWindows(t *testing.T) {
	text := "cpu,instances,requests,window,ms,memory_mb,note\n" +
		"250m,2,60,60,1000,100,a\n500,2,60,60,400,110,b\n1000,1,0,60,NaN,90,idle\n1000,1,60,60,300,120,c\n"
	r := must.Get(profiles.FitLaws(strings.NewReader(text), "windows.csv"))(t)
	f := r.Functions[0]
	if r.Idle != 1 || f.Name != "function" || f.Rows != 3 || f.Law.Idle != 110 || f.Settings[0].Inside != 0.5 ||
		f.Settings[0].CPU != 250 {
		t.Errorf("%d idle, %+v", r.Idle, f)
	}
	got := profiles.LawsText(r)
	for _, want := range []string{"1 windows without a request", "There is no column function: all rows are one function."} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestFitLawsWrong(t *testing.T) {
	const windows = "function,cpu,instances,rate,ms,limit\n"
	for _, c := range []struct{ text, want string }{
		{"", "line 1: no header, want the columns"},
		{"a,b\n1,2\n", `line 1: no law can be fitted to the columns ["a" "b"], want the columns`},
		{"cpu,inside\n1,2\n", "no column for the time (ms or seconds)"},
		{"cpu,ms\n1,2\n", "no column for the load (inside, or instances and rate)"},
		{"cpu,rate,ms\n1,2\n", `line 1: no column for the number of instances`},
		{"cpu,instances,requests,ms\n1,2\n", "want rate (requests a second of all instances), or requests and window"},
		{"function,memory,ms\nf,128,1\n", "runs over memory sizes"},
		{windows, "the file has a header and no rows"},
		{windows + "f,1000,1,1,100,8\nf,0.5,1,1,100,8\n",
			"line 3: column 2 (cpu): 0.5, want a CPU limit in millicores, at least 10 (name"},
		{windows + "f,1000,0,1,100,8\n", "line 2: column 3 (instances): 0, want a number of instances above 0"},
		{windows + "f,1000,1,-1,100,8\n", "line 2: column 4 (rate): -1"},
		{windows + "f,1000,1,1,x,8\n", `line 2: column 5: "x" is no number, want the mean time`},
		{windows + "f,1000,1,1,0,8\n", "line 2: column 5 (time): 0, want the mean time"},
		{windows + "f,1000,1,1,100,0\n", "line 2: column 6 (limit): 0, want the requests"},
		{windows + ",1000,1,1,100,1\n", "line 2: column 1 (function): it is empty"},
		{windows + "f,1000,1,100,1000,8\n",
			"line 2: 100 requests in an instance at a time (rate · time / instances), but it takes 8"},
		{windows + "f,1000,1,0,NaN,8\n", "all 1 windows are without a request"},
		{"cpu,inside,ms\n1000,0.5,10\n", "line 2: column 2 (inside): 0.5, want the requests in the instance"},
	} {
		_, err := profiles.FitLaws(strings.NewReader(c.text), "f.csv")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want one with %q", c.text, err, c.want)
		}
	}
}

// YAML takes every name for a text.
func TestLawsYAMLNames(t *testing.T) {
	for name, want := range map[string]string{"resize": "function: resize,", "no": `function: "no",`,
		"a: b": `function: "a: b",`} {
		r := must.Get(profiles.FitLaws(strings.NewReader("function,cpu,inside,ms\n"+name+",1000,1,10\n"), "f.csv"))(t)
		if got := r.YAML(); !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// FaaSConf's measured windows, every fourth: p75 in place of the mean. Nearest repetitions differ by a factor with
// quartiles of about 0.8 and 1.25 (docs/sizing/agreement.md).
func TestFaaSConfWindows(t *testing.T) {
	f := must.Get(os.Open(filepath.Join(realdata.Dir(t), "faasconf", "parallel_10.csv")))(t)
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll() // of each function 4 parts of an action and 10 measurements, then 6 of the window
	must.Do(t, err)
	var b strings.Builder
	b.WriteString("function,cpu,instances,limit,requests,window,seconds\n")
	for i := 1; i < len(all); i += 4 {
		row := all[i]
		n := len(row) / 14
		for f := range n {
			limit := must.Get(strconv.ParseFloat(row[4*f+3], 64))(t)
			m := row[4*n+10*f:] // function, cpu, memory, replicas, four metrics, p75
			fmt.Fprintf(&b, "%s,%s,%s,%d,%s,30,%s\n", m[0], m[1], m[3], int(1+9*limit), row[14*n+3], m[8])
		}
	}
	r := must.Get(profiles.FitLaws(strings.NewReader(b.String()), "parallel_10.csv"))(t)
	t.Logf("\n%s", profiles.LawsText(r))
	for _, f := range r.Functions {
		if !(f.LeftOut > 0.05 && f.LeftOut < 0.25) {
			t.Errorf("%s errs by %g at settings left out, want 0.05 to 0.25", f.Name, f.LeftOut)
		}
	}
}
