package profiles_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/eval/profiles"
	"github.com/stoker-rl/stoker/internal/must"
)

// runs are two functions at 12 sizes: one with a knee at 1,000 MB, one that decays exponentially.
func runs() string {
	var b strings.Builder
	b.WriteString("function,memory,ms\n")
	for mb := 128; mb <= 3008; mb += 240 {
		fmt.Fprintf(&b, "thumb,%d,%g\n", mb, 100+500000/math.Min(float64(mb), 1000))
		fmt.Fprintf(&b, "mail,%d,%g\n", mb, 300+2000*math.Exp(-0.002*float64(mb)))
	}
	return b.String()
}

func TestFit(t *testing.T) {
	r := must.Get(profiles.Fit(strings.NewReader(runs()), profiles.Default()))(t)
	for i, want := range []string{"knee", "exponential"} {
		if got := r.Functions[i].Laws[0]; string(got.Form) != want || got.LeftOut > 1e-6 {
			t.Errorf("%s: %s chosen, which errs by %v; want %s without an error", r.Functions[i].Name, got.Form, got.LeftOut, want)
		}
	}
	if r.Error.MAPE > 1e-6 || r.Published.MAPE < 0.005 {
		t.Errorf("the chosen laws err by %v and the published one by %v, want none and some", r.Error.MAPE, r.Published.MAPE)
	}
	q := profiles.Default()
	q.Few, q.Law = 5, "exponential"
	few := must.Get(profiles.Fit(strings.NewReader(runs()), q))(t)
	if f := few.Functions[0]; f.Used != 5 || len(f.Laws) != 1 || len(f.Sizes) != 13 {
		t.Errorf("%d sizes used, %d laws, %d sizes judged; want 5, 1, 13", f.Used, len(f.Laws), len(f.Sizes))
	}
}

func TestWrite(t *testing.T) {
	r := must.Get(profiles.Fit(strings.NewReader(runs()), profiles.Default()))(t)
	text := profiles.Text(r)
	for _, want := range []string{"thumb", "chosen: 0.1 s + 500 MB·s / min(MB, 1000)", "80th percentile", "eq. 3.1"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text has no %q:\n%s", want, text)
		}
	}
	dir := t.TempDir()
	files := must.Get(profiles.Write(dir, r))(t)
	for _, f := range files {
		if info, err := os.Stat(filepath.Join(dir, f)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
	b := must.Get(os.ReadFile(filepath.Join(dir, "profile.json")))(t)
	var back struct {
		Functions []struct {
			Name  string
			Sizes []struct{ MB, Mean, Predicted float64 }
		}
	}
	must.Do(t, json.Unmarshal(b, &back))
	if f := back.Functions[0]; f.Name != "thumb" || f.Sizes[0].MB != 128 || math.Abs(f.Sizes[0].Predicted-f.Sizes[0].Mean) > 1e-6 {
		t.Errorf("profile.json has %+v", f)
	}
}

func TestWrong(t *testing.T) {
	for want, c := range map[string]struct {
		text string
		q    func(*profiles.Request)
	}{
		`no law "cubic", there are auto, exponential`: {runs(), func(q *profiles.Request) { q.Law = "cubic" }},
		"1 memory sizes": {runs(), func(q *profiles.Request) { q.Few = 1 }},
		"function f: times rise with memory: 1 s with 128 MB": {"function,memory,seconds\nf,128,1\nf,256,2\n", nil},
		"function f: 2 memory sizes are too few":              {"function,memory,seconds\nf,128,2\nf,256,1\n", nil},
		"line 3, column 3":                                    {"function,memory,seconds\nf,128,2\nf,256,x\n", nil},
	} {
		q := profiles.Default()
		if c.q != nil {
			c.q(&q)
		}
		if _, err := profiles.Fit(strings.NewReader(c.text), q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
