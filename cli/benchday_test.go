package cli

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/bench"
)

// bench sim-day prints one JSON object, or a few lines to read, and says what is wrong with its flags.
func TestBenchDay(t *testing.T) {
	code, out, errs := stoker("bench", "sim-day", "--functions", "60", "--hours", "0.2", "--json")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if r := decode[bench.DayResult](t, out); r.Bench != "sim-day" || r.Functions != 60 || r.Requests < 1 || r.CPU < 0 {
		t.Errorf("%+v", r)
	}
	code, out, errs = stoker("bench", "sim-day", "--functions", "60", "--hours", "0.2")
	if code != exitDone || !strings.Contains(out, "60 functions, 0.2 hours") || !strings.Contains(out, "cold starts") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	for _, c := range []struct{ flag, value, want string }{
		{"--functions", "0", `--functions is "0", want a whole number of at least 1`}, {"--hours", "-1",
			"--hours is -1"}, {"--factor", "1e9", "--factor is 1e+09"},
		{"--seed", "0", "1 and 0, want more than 0"},
	} {
		if code, _, errs := stoker("bench", "sim-day", c.flag, c.value); code != exitUsage ||
			!strings.Contains(errs, c.want) {
			t.Errorf("%s %s: exit %d, %s", c.flag, c.value, code, errs)
		}
	}
}
