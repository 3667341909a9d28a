package bench

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

func lines(t *testing.T, text string) []Line {
	t.Helper()
	out := must.Get(ReadLines(strings.NewReader(text)))(t)
	return out
}

// Two measurements match where all keys that both have are equal; numbers of instances need only be about equal.
func TestMatches(t *testing.T) {
	ours := lines(t, `{"bench":"attmf","agents":5,"batch":64,"neighbours":"sparse","threads":1,"updates_per_second":9,"ns_per_op":1}`)[0]
	for text, want := range map[string]bool{
		`{"bench":"attmf","agents":5,"batch":64,"threads":2,"updates_per_second":2}`:             true,
		`{"bench":"attmf","updates_per_second":2}`:                                               true,
		`{"bench":"attmf","agents":12,"batch":64,"updates_per_second":2}`:                        false,
		`{"bench":"attmf","agents":5,"batch":64,"neighbours":"dense","updates_per_second":2}`:    false,
		`{"bench":"forward","agents":5,"batch":64,"updates_per_second":2}`:                       false,
		`{"bench":"attmf","agents":"5","batch":64,"neighbours":"sparse","updates_per_second":2}`: false,
	} {
		if got := ours.Matches(lines(t, text)[0]); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	scale := lines(t, `{"bench":"scale","form":"attmf","agents":5,"updates_per_second":9}`)[0]
	for form, want := range map[string]bool{"attmf": true, "maddpg": false} {
		if got := scale.Matches(lines(t, `{"bench":"scale","form":"`+form+`","agents":5,"updates_per_second":2}`)[0]); got != want {
			t.Errorf("a learner of form attmf matches one of form %s: %v, want %v", form, got, want)
		}
	}
	if got, want := scale.String(), "scale attmf 5 agents"; got != want {
		t.Errorf("it is called %q, want %q", got, want)
	}
	sim := lines(t, `{"bench":"sim","instances":8,"requests_per_second":9}`)[0]
	for text, want := range map[string]bool{
		`{"bench":"sim","instances":7.66,"requests_per_second":1}`: true,
		`{"bench":"sim","instances":35.2,"requests_per_second":1}`: false,
		`{"bench":"sim","instances":"8","requests_per_second":1}`:  false,
	} {
		if got := sim.Matches(lines(t, text)[0]); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// An invalid measurement is refused with the reason; other lines are skipped.
func TestReadLines(t *testing.T) {
	if got := lines(t, "torch 2.11\n\n {\"bench\":\"op\",\"ns_per_op\":5}\nbye\n"); len(got) != 1 || got[0]["ns_per_op"] != 5.0 {
		t.Errorf("%v", got)
	}
	for text, want := range map[string]string{
		`{"bench":`: "line 1: unexpected end of JSON",
		"x\n{\"agents\":5,\"updates_per_second\":1}": `line 2: no "bench"`,
		`{"bench":"op"}`:                                 "no figure, want one such as",
		`{"bench":"op","ns_per_op":0}`:                   `"ns_per_op" is 0, want a number above 0`,
		`{"bench":"op","updates_per_second":"x"}`:        `"updates_per_second" is x, want a number`,
		`{"bench":"op","x":"` + strings.Repeat("é", 400): "…",
	} {
		if _, err := ReadLines(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Each ratio is of two measurements of the same round: ours doubles from round to round, and so does the peer's, which
// counts its calls in a file.
func TestCompare(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the peer here is a script of sh")
	}
	count := filepath.Join(t.TempDir(), "count")
	command := `echo x >> '` + count + `'; n=$(wc -l < '` + count + `')
echo warming up
echo '{"bench":"a","peer":"slow","agents":5,"updates_per_second":'$((1 << n))'}'
echo '{"bench":"a","peer":"slow","agents":7,"updates_per_second":1}'
echo '{"bench":"b","step_seconds":0.5,"ns_per_op":7}'`
	n, log := 0, &strings.Builder{}
	p := Peers{Commands: []string{command}, Rounds: 3, OurCommand: "stoker bench a", Log: log}
	got, err := p.Compare(t.Context(), func() ([]Line, error) {
		n++
		x := map[int]string{1: "12", 2: "20", 3: "24"}[n]
		return lines(t, `{"bench":"a","agents":5,"engine":"native","kernels":"go","threads":1,"updates_per_second":`+x+`,"ns_per_op":1}
{"bench":"b","step_seconds":0.25,"ns_per_op":1}`), nil
	})
	if err != nil || len(got) != 2 || n != 3 {
		t.Fatalf("%d comparisons in %d rounds: %v", len(got), n, err)
	}
	a, b := got[0], got[1]
	if a.Ratio != 5 || a.Low != 4 || a.High != 5.5 || a.Least != 3 || a.Most != 6 || a.Rounds != 3 || a.OurValue != 20 || a.PeerValue != 4 {
		t.Errorf("ratios 6, 5 and 3 give %+v", a)
	}
	if a.What != "a 5 agents" || a.Ours != "native go 1 threads" || a.Peer != "slow" || a.Figure != "updates_per_second" || a.PeerCommand != command {
		t.Errorf("%+v", a)
	}
	if b.Ratio != 2 || b.Figure != "step_seconds" || b.Peer != "peer" {
		t.Errorf("a time of a half gives %+v", b)
	}
	if s := log.String(); strings.Count(s, "no measurement of ours matches the peer's a 7 agents (updates_per_second)") != 1 || !strings.Contains(s, "round 3 of 3") {
		t.Errorf("log:\n%s", s)
	}
}

func TestCompareFails(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the peers here are scripts of sh")
	}
	for command, want := range map[string]string{
		"echo no torch here >&2; exit 3": "exit status 3\nno torch here",
		"true":                           "printed no measurement, want lines such as {",
		"echo 88 updates/s":              "it printed: 88 updates/s",
		`echo '{"bench":"a","updates_per_second":"fast"}'`: `printed an invalid measurement: line 1: "updates_per_second" is fast`,
		`echo '{"bench":"c","updates_per_second":1}'`:      "no measurement of the peers matches one of ours",
		`echo '{"bench":"a","requests_per_second":1}'`:     "a figure of the same name",
		"/nowhere/python torch.py":                         "exit status 127",
	} {
		p := Peers{Commands: []string{command}, Rounds: 1, Log: io.Discard}
		_, err := p.Compare(t.Context(), func() ([]Line, error) {
			return lines(t,
				`{"bench":"a","updates_per_second":1}`), nil
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", command, err, want)
		}
	}
	bad := errors.New("bad")
	p := Peers{Commands: []string{"true"}, Rounds: 1, Log: io.Discard}
	if _, err := p.Compare(t.Context(), func() ([]Line, error) { return nil, bad }); !errors.Is(err, bad) {
		t.Errorf("ours failing gives %v", err)
	}
}

// Recorded lines of the same engine, kernels and threads are returned, and peers' lines.
func TestBeside(t *testing.T) {
	ours := lines(t, `{"bench":"a","agents":5,"engine":"native","kernels":"go","threads":1,"updates_per_second":30}`)[0]
	past := lines(t, `{"bench":"a","agents":5,"engine":"native","kernels":"go","threads":1,"updates_per_second":20}
{"bench":"a","agents":5,"engine":"native","kernels":"avx2","threads":1,"updates_per_second":200}
{"bench":"a","agents":5,"peer":"lean","threads":2,"updates_per_second":10}
{"bench":"a","agents":6,"peer":"lean","threads":2,"updates_per_second":10}`)
	got := Beside(ours, past)
	if len(got) != 2 || Against(ours, got[0]) != "1.50 × 20.0" || Against(ours, got[1]) != "3.00 × 10.0 (lean 2 threads)" {
		t.Errorf("%v", got)
	}
}

// Peak memory is reset for each measurement, where the system allows it.
func TestPeakMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("read from Linux's proc")
	}
	f, err := os.OpenFile("/proc/self/clear_refs", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("peaks can't be reset here")
	}
	f.Close()
	startMemory() // tests before may have had a higher peak
	before := peakMemory()
	x := make([]byte, 64<<20)
	for i := 0; i < len(x); i += 4096 {
		x[i] = 1
	}
	with := peakMemory()
	if with < before+60 {
		t.Errorf("%g MB before and %g MB with 67 MB more", before, with)
	}
	sink = x[:1:1]
	runtime.KeepAlive(x)
	x, sink = nil, nil
	startMemory()
	if after := peakMemory(); after > with-50 {
		t.Errorf("%g MB after %g MB were given back", after, with)
	}
	if m := ThisMachine(); m.Memory < 100 || m.Cores < 1 || m.CPU == "" {
		t.Errorf("%+v", m)
	}
}
