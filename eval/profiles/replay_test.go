package profiles_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/eval/profiles"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/tools/proof"
)

// many are two functions with knees at 14 sizes, 12 runs each, which vary by a few percent.
func many() string {
	s := rng.NewStream(5, "test/many")
	var b strings.Builder
	b.WriteString("function,memory,ms\n")
	for mb := 128; mb <= 128*14; mb += 128 {
		for range 12 {
			fmt.Fprintf(&b, "thumb,%d,%g\n", mb, (100+500000/math.Min(float64(mb), 1000))*(1+0.03*s.Norm()))
			fmt.Fprintf(&b, "mail,%d,%g\n", mb, (50+300000/math.Min(float64(mb), 700))*(1+0.03*s.Norm()))
		}
	}
	return b.String()
}

func TestReplay(t *testing.T) {
	o := profiles.DefaultReplay()
	o.Seeds, o.Points = 3, 7
	r := must.Get(profiles.Replay(strings.NewReader(many()), o))(t)
	if len(r.Designs) != 2*5 || r.Functions != 2 {
		t.Fatalf("%d rows of %d functions, want 10 of 2", len(r.Designs), r.Functions)
	}
	for _, d := range r.Designs {
		proof.Log(t, "%s, %d sizes: %.4g runs, errors %.5g and %.5g", d.Design, d.Sizes, d.Runs, d.Published, d.Chosen)
		if least := float64(3 * d.Sizes); d.Runs < least || d.Design == "even" && d.Runs != least {
			t.Errorf("%s, %d sizes: %g runs, want at least %g", d.Design, d.Sizes, d.Runs, least)
		}
		// Functions with knees: the exponential law errs more than the best one, once there are enough sizes for that.
		if d.Sizes >= 6 && !(d.Chosen < d.Published && d.Chosen < 0.05) {
			t.Errorf("%s, %d sizes: errors of %.3f and %.3f", d.Design, d.Sizes, d.Published, d.Chosen)
		}
	}
	if s := r.Stops; !(s.Sizes >= 3 && s.Sizes <= 7 && s.Runs >= 9 && s.MAPE > 0) {
		t.Errorf("it ends at %+v", s)
	}
	again, err := profiles.Replay(strings.NewReader(many()), o)
	if err != nil || !reflect.DeepEqual(r, again) {
		t.Errorf("a second replay differs: %v", err)
	}
	dir := t.TempDir()
	files := must.Get(profiles.WriteReplay(dir, r))(t)
	for _, f := range files {
		if info, err := os.Stat(filepath.Join(dir, f)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
	if text := profiles.ReplayText(r); !strings.Contains(text, "parrotfish") || !strings.Contains(text, "own rule ends after") {
		t.Error(text)
	}
}

// A function that memory hardly speeds up can be replayed: a few runs of the largest size may take longer than those of the
// smallest.
func TestReplayFlat(t *testing.T) {
	s := rng.NewStream(5, "test/flat")
	var b strings.Builder
	b.WriteString("function,memory,ms\n")
	for i := range 14 {
		for range 12 {
			fmt.Fprintf(&b, "flat,%d,%g\n", 128*(i+1), (1200-20*float64(i))*math.Exp(0.3*s.Norm()))
		}
	}
	o := profiles.DefaultReplay()
	o.Seeds, o.Points = 3, 7
	r := must.Get(profiles.Replay(strings.NewReader(b.String()), o))(t)
	for _, d := range r.Designs {
		if !(d.Published > 0 && d.Chosen > 0 && d.Published < 1 && d.Chosen < 1) {
			t.Errorf("%s, %d sizes: errors of %g and %g", d.Design, d.Sizes, d.Published, d.Chosen)
		}
	}
}

func TestReplayWrong(t *testing.T) {
	for want, c := range map[string]struct {
		text string
		set  func(*profiles.ReplayOptions)
	}{
		"13 memory sizes were measured":             {runs(), func(o *profiles.ReplayOptions) { o.Points = 14 }},
		"fewer than 11 runs at a size":              {runs(), nil},
		"1 seeds":                                   {many(), func(o *profiles.ReplayOptions) { o.Seeds = 1 }},
		"0 samples, want at least 1":                {many(), func(o *profiles.ReplayOptions) { o.Parrotfish.Samples = 0 }},
		"line 2, column 3: \"x\" is not a duration": {"function,memory,ms\nf,1,x\n", nil},
	} {
		o := profiles.DefaultReplay()
		if c.set != nil {
			c.set(&o)
		}
		if _, err := profiles.Replay(strings.NewReader(c.text), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
