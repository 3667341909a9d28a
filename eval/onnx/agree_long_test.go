package onnx

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/policy/onnx"
	"github.com/stoker-rl/stoker/policy/onnx/onnxtest"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/tools/proof"
)

var long = flag.Bool("long", false, "try every form of every learner, on 10,000 random observations each (minutes)")

// row is what was measured of one policy.
type row struct {
	name, group   string
	most          float64 // the bound of errors
	bundle, model int     // bytes
	open, load    float64 // ms until package policy, and onnxruntime, can decide
	random, real  onnxtest.Agreement
}

// mostError bounds the errors of scores: sums of a few hundred products in another order, in float32. Learners that
// were trained for a moment may see features of 10,000 and more as they are, whose sums have errors of that size.
func (s *subject) mostError() float64 {
	if s.config == "" {
		return 1e-5
	}
	return 1e-4
}

// onnxruntime decides as the policies do: for those that come with Stoker and for the learners of the catalog, on
// random observations and in an episode.
func TestModelsAgree(t *testing.T) {
	onnxtest.Python(t)
	var rows []row
	for _, s := range subjects() {
		if !*long && !s.quick {
			continue
		}
		t.Run(s.name, func(t *testing.T) { rows = append(rows, measure(t, &s)) })
	}
	if dir := os.Getenv(proof.Folder); dir != "" && *long {
		write(t, dir, rows)
	}
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].group == rows[0].group {
			n++
		}
		claim(t, rows[:n])
		rows = rows[n:]
	}
}

// claim sums the policies of a group up: one of the zoo, or all forms of a learner.
func claim(t *testing.T, rows []row) {
	t.Helper()
	var all onnxtest.Agreement
	most := 0.0
	for _, r := range rows {
		all.Add(r.random)
		all.Add(r.real)
		most = r.most
	}
	what := rows[0].group
	if len(rows) > 1 || !strings.HasPrefix(what, zoo.Prefix) {
		what = fmt.Sprintf("%s, %d forms", what, len(rows))
	}
	proof.Claim(t, proof.Row{
		Topic: "numerics", Claim: "ONNX model in onnxruntime 1.31.1 against the policy: " + what,
		Bound: fmt.Sprintf("scores %g, relative above 1; unequal actions only within %g, or the scores' error, of a tie", most,
			onnxtest.Tie),
		Measured: fmt.Sprintf("%.2g; %d of %d actions unequal, %d of these within 1e-5", all.Largest, all.Unequal, all.Actions,
			all.AtTie),
		Holds: all.Largest <= most && all.Beyond == 0,
	})
}

func measure(t *testing.T, s *subject) row {
	o := s.open(t)
	group, _, _ := strings.Cut(s.name, ",")
	r := row{name: s.name, group: group, most: s.mostError()}
	b := must.Get(bundle.Encode(o.file))(t)
	begun := time.Now()
	must.Get(policy.OpenBytes(b, policy.Options{}))(t)
	r.open = time.Since(begun).Seconds() * 1e3
	model := must.Get(onnx.Write(o.file))(t)
	r.bundle, r.model = len(b), len(model)
	inputs, chunk, most := 10_000, 10_000, 1000
	if w := o.env.Spec().Kinds[0].Observation.Width(); w == 0 || w > 1000 {
		chunk = 2_000 // for the memory's sake
	}
	if !*long {
		inputs, chunk, most = 100, 100, 50
	}
	episode := o.episode(t, most)
	ranges := onnxtest.NewRanges(o.env.Spec())
	for _, e := range episode {
		ranges.Add(e.Seen)
	}
	r.real = onnxtest.Agree(t, o.file, model, o.env.Spec(), episode)
	draws := rng.NewStream(1, "onnx: observations")
	for range inputs / chunk {
		r.random.Add(onnxtest.Agree(t, o.file, model, o.env.Spec(), o.random(t, ranges, draws, chunk)))
	}
	r.load = r.real.Report.Load * 1e3
	if r.real.Report.IR != 10 || r.real.Report.Opset[""] != 18 ||
		r.real.Report.Metadata[onnx.KeyDigest] != bundle.Digest(b) {
		t.Errorf("the model is %+v, want format 10, operators 18 and the bundle's digest", r.real.Report)
	}
	return r
}

// write writes the table.
func write(t *testing.T, dir string, rows []row) {
	var text, data strings.Builder
	text.WriteString("| policy | bundle kB | model kB | open ms | load ms | largest error | actions | unequal | at a tie | " +
		"episode: largest error | actions | unequal | at a tie |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	data.WriteString("policy,bundle_bytes,model_bytes,operators,inputs,actions,largest_error,unequal,at_tie,episode_inputs," +
		"episode_actions,episode_largest_error,episode_unequal,episode_at_tie\n")
	for _, r := range rows {
		a, b := r.random, r.real
		fmt.Fprintf(&text, "| %s | %.1f | %.1f | %.1f | %.1f | %.1e | %d | %d | %d | %.1e | %d | %d | %d |\n", r.name,
			float64(r.bundle)/1e3, float64(r.model)/1e3, r.open, r.load, a.Largest, a.Actions, a.Unequal, a.AtTie, b.Largest,
			b.Actions, b.Unequal, b.AtTie)
		fmt.Fprintf(&data, "%q,%d,%d,%d,%d,%d,%.3g,%d,%d,%d,%d,%.3g,%d,%d\n", r.name, r.bundle, r.model, b.Report.Nodes, a.Inputs,
			a.Actions, a.Largest, a.Unequal, a.AtTie, b.Inputs, b.Actions, b.Largest, b.Unequal, b.AtTie)
	}
	for name, s := range map[string]string{"table.md": text.String(), "agreement.csv": data.String()} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(s), 0o600))
	}
}
