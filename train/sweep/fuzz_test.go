package sweep

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/internal/must"
)

// What a proposer answers is refused, or lies within the laws.
func FuzzProposal(f *testing.F) {
	p := &Plan{Random: []Range{{"a", Law{kind: logLaw, low: 1e-4, high: 0.1}}, {"b", Law{kind: intLaw, low: 1, high: 9}},
		{"c", Law{kind: choiceLaw, words: []string{"[4]", "x"}}}}}
	for _, seed := range []string{`{"a": 1e-3, "b": 3, "c": "x"}`,
		`{"a": "1e-3", "b": 3.5, "c": 1}`, `{"a": 1e400, "b": -0, "c": "x"}`, `[]`, `null`,
		`{"a": 0.00010001, "b": 9, "c": "[4]"} {}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		list, err := p.settings(line)
		if err != nil {
			return
		}
		a, errA := strconv.ParseFloat(list[0].Value, 64)
		b, errB := strconv.Atoi(list[1].Value)
		if errA != nil || errB != nil || a < 1e-4 || a > 0.1 || b < 1 || b > 9 || (list[2].Value != "x" && list[2].Value != "[4]") {
			t.Errorf("%q gives %v", line, list)
		}
	})
}

// A study's file that is damaged is refused, or opens and is told without a panic, also where its seal is right.
func FuzzOpen(f *testing.F) {
	dir := filepath.Join(f.TempDir(), "a")
	p := &Plan{Config: "tiny.yaml", Text: tiny, Folder: f.TempDir(), Seeds: []uint64{1}, Metric: "cost", Trials: 4,
		Random: []Range{{"agent.actor_rate", must.Get(ParseLaw("log(1e-4,1e-1)"))(f)}}, Seed: 1,
		Study: &Study{ScoreSeeds: "4001", Metrics: []string{"cost"}, Halving: "10", Factor: 2}}
	s := must.Get(Prepare(dir, p, catalog.Default(), false))(f)
	must.Do(f, s.Run(f.Context(), Options{Jobs: 1, Train: fast}))
	path := filepath.Join(dir, File)
	text := string(must.Get(os.ReadFile(path))(f))
	for _, change := range [][2]string{{`"steps": 10`, `"steps": -1`}, {`"factor": 2`, `"factor": 0`}, {`"values": [`, `"values": [null, `},
		{`"actor_rate-`, `"actor-`}, {`"lower"`, `"x"`}, {`"batches"`, `"b"`}, {`"crc32c"`, `"c"`}, {`"steps": 40`, `"steps": 0`},
		{`"better": [`, `"bet": [`}, {`"halving": "10"`, `"halving": "x"`}, {`"hyperband"`, `"x"`}} {
		f.Add([]byte(strings.ReplaceAll(text, change[0], change[1])))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bytes.Clone(b)
		if i := bytes.LastIndex(b, []byte(`"crc32c": "`)); i >= 0 && i+len(`"crc32c": "`)+8 <= len(b) {
			copy(b[i+len(`"crc32c": "`):], checkpoints.NoSeal)
			checkpoints.Seal(b)
		}
		must.Do(t, os.WriteFile(path, b, 0o666))
		s, err := Open(dir, catalog.Default())
		if err != nil || s.Plan.Study == nil {
			return
		}
		s.targets()
		s.Ranked()
		for i, names := range s.Batches {
			for _, n := range names {
				s.became(i, n)
			}
		}
	})
}
