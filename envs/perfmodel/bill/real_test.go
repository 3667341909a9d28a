package bill_test

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/realdata"
)

// Three workflows on AWS, 3,000 requests each (pacslab/SLApp-PerfCost-MdlOpt): what their functions' quantiles are
// expected to cost, and what rounding the mean would say, against the published bills.
func TestMeasuredBills(t *testing.T) {
	dir := filepath.Join(realdata.Dir(t), "slapp", "apps")
	tariff := bill.LambdaTable()
	for _, app := range []string{"App8", "App10", "App12"} {
		var bills float64
		costs := rows(t, filepath.Join(dir, app+"_Cost_AWS.csv"))
		for _, r := range costs {
			bills += number(t, r["1M_Exe_Cost"]) / float64(len(costs))
		}
		var expected, ofMean float64
		for _, r := range rows(t, filepath.Join(dir, app+"_functions.csv")) {
			var q bill.Quantiles
			for _, p := range strings.Fields("0 1 5 10 25 50 75 90 95 99 99.9 100") {
				q.P = append(q.P, number(t, p)/100)
				q.Seconds = append(q.Seconds, number(t, r["p"+p])/1000)
			}
			if err := q.Validate(); err != nil {
				t.Fatalf("%s, %s: %v", app, r["Function"], err)
			}
			runs, mb := number(t, r["Invocations"])/float64(len(costs)), number(t, r["Memory"])
			expected += 1e6 * runs * tariff.Expected(mb, q)
			ofMean += 1e6 * runs * tariff.OfMean(mb, number(t, r["Mean"])/1000)
		}
		t.Logf("%s: billed %.2f USD a million requests; expected %.2f (%+.2f %%); of means %.2f (%+.2f %%)", app, bills,
			expected, 100*(expected/bills-1), ofMean, 100*(ofMean/bills-1))
		if e := math.Abs(expected/bills - 1); e > 0.003 {
			t.Errorf("%s: the expected bill errs by %.2f %%, want at most 0.3 %%", app, 100*e)
		}
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v := must.Get(strconv.ParseFloat(text, 64))(t)
	return v
}

func rows(t *testing.T, file string) []map[string]string {
	t.Helper()
	f := must.Get(os.Open(file))(t)
	defer f.Close()
	all := must.Get(csv.NewReader(f).ReadAll())(t)
	var out []map[string]string
	for _, r := range all[1:] {
		m := map[string]string{}
		for i, name := range all[0] {
			m[name] = r[i]
		}
		out = append(out, m)
	}
	return out
}
