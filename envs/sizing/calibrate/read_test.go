package calibrate

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

const header = "cpu-func1,mem-func1,replicas-func1,concurrency-func1,func1,cpu,mem,replicas,cpu_metric,thr_metric," +
	"mem_metric,network_metric,latency_p75,latency-p95,e2e-latency,p95-latency,thoughput(success),total_request," +
	"price,qps\n"

const row = "0.5,0.25,0.75,1,f,1125,704,6,9.5,12,0.4,1500,1.25,2.5,8.5,12,20,22,1.2,10\n"

func TestReadFaaSConf(t *testing.T) {
	got := must.Get(ReadFaaSConf(strings.NewReader(header + row + row)))(t)
	if len(got) != 2 || len(got[1].Functions) != 1 {
		t.Fatalf("%d rows of %d functions, want 2 of 1", len(got), len(got[1].Functions))
	}
	want := MeasuredFunction{"f", [4]float64{0.5, 0.25, 0.75, 1}, 1125, 704, 6, 9.5, 12, 0.4, 1500, 1.25, 2.5}
	if got[1].Functions[0] != want {
		t.Errorf("%+v, want %+v", got[1].Functions[0], want)
	}
	if m := got[0]; m.Latency != 8.5 || m.P95 != 12 || m.Successes != 20 || m.Requests != 22 || m.Price != 1.2 ||
		m.Users != 10 {
		t.Errorf("%+v", m)
	}
}

func TestReadFaaSConfErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":         {"", "header"},
		"columns":       {"a,b,c\n", "3 columns"},
		"not a number":  {header + row + strings.Replace(row, "1125", "much", 1), "line 3, column 19 (cpu) is \"much\""},
		"not finite":    {header + strings.Replace(row, "8.5", "NaN", 1), "line 2, column 55 (e2e-latency) is \"NaN\""},
		"short line":    {header + "1,2,3\n", "wrong number of fields"},
		"broken quotes": {header + "\"1,2\n", "quote"},
	} {
		if _, err := ReadFaaSConf(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want an error with %q, got %v", name, c.want, err)
		}
	}
}

func FuzzReadFaaSConf(f *testing.F) {
	f.Add(header + row)
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := ReadFaaSConf(strings.NewReader(text))
		if err == nil && len(rows) > 0 && len(rows[0].Functions) == 0 {
			t.Error("a row without functions")
		}
	})
}

// The fit at one core, one replica and one request is e^A, and each exponent acts alone.
func TestFit(t *testing.T) {
	for _, f := range FaaSConfFit() {
		for _, c := range []struct {
			cpu, replicas, concurrency int
			want                       float64
		}{{1000, 1, 1, f.A}, {2000, 1, 1, f.A + f.B*math.Ln2}, {1000, 2, 1, f.A + f.C*math.Ln2}, {1000, 1, 2,
			f.A + f.D*math.Ln2}} {
			if got := math.Log(f.P75(c.cpu, c.replicas, c.concurrency)); math.Abs(got-c.want) > 1e-12 {
				t.Errorf("%s: ln p75 is %g, want %g", f.Function, got, c.want)
			}
		}
	}
}
