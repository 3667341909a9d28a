package stepconf

import (
	"context"
	"flag"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/suite/suitetest"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/realdata"
)

var long = flag.Bool("long", false, "run the suite as stoker suite stepconf --quick does")

// small plays little.
func small(ctx context.Context, o suite.Options, r *suite.Report) error {
	return play(ctx, &o, r, size{runs: 2, requests: 2, worlds: []world{worlds[0], worlds[3]}, planned: workflows[:1], drawn: 2})
}

// A result does not depend on the workers, and nothing in it is missing.
func TestSuite(t *testing.T) {
	s := Suite()
	s.Run = small
	res := suitetest.Same(t, s, 3, 1)
	if text := suite.Text(res); strings.Contains(text, "NaN") {
		t.Errorf("something could not be computed:\n%s", text)
	}
	if len(res.Claims) != len(claims) {
		t.Errorf("%d claims of %d", len(res.Claims), len(claims))
	}
}

// A program's time: whole jobs, shared out over processes that share the cores.
func TestProgram(t *testing.T) {
	p := program{work: 1, start: 0.5}
	const core = 1769.0
	for _, c := range []struct{ share, jobs, mb, q, want float64 }{
		{0, 6, core, 1, 6.5},      // one after the other
		{0, 6, core / 2, 1, 12.5}, // on half a core
		{0, 6, 6 * core, 1, 6.5},  // cores that it does not use
		{0, 6, 6 * core, 4, 2.5},  // two rounds of four processes
		{0, 6, 2 * core, 4, 4.5},  // on two cores
		{0, 2, 6 * core, 6, 1.5},  // no more processes than jobs
		{1, 6, 3 * core, 1, 2.5},  // every job on three cores
		{0.5, 6, 3 * core, 1, 4.5},
	} {
		p.share = c.share
		if got := p.seconds(c.jobs, c.mb, c.q); got != c.want {
			t.Errorf("%+v: %g s", c, got)
		}
	}
}

// Functions measured on AWS: four of six are within the paper's bound.
func TestData(t *testing.T) {
	o := &suite.Options{Seeds: []uint64{1}, Data: realdata.Dir(t)}
	d := must.Get(measuredFunctions(t.Context(), o))(t)
	within := 0
	for f := range d.names {
		if _, most := below(d.error[f]); most[0] < allError {
			within++
		}
	}
	if len(d.names) != 6 || within != 4 {
		t.Errorf("%d of %d functions within %g %%, want 4 of 6", within, len(d.names), allError)
	}
	o.Data = t.TempDir()
	if _, err := measuredFunctions(t.Context(), o); err == nil || !strings.Contains(err.Error(), "lacks a file") {
		t.Errorf("an empty folder: %v", err)
	}
}
