package foreign

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/policy/onnx"
	"github.com/stoker-rl/stoker/policy/onnx/onnxtest"
	"github.com/stoker-rl/stoker/policy/policytest"
	"github.com/stoker-rl/stoker/rng"
)

// childVar tells a copy of this test program what to do as a command.
const childVar = "STOKER_TEST_CHILD"

func TestMain(m *testing.M) {
	if how := os.Getenv(childVar); how != "" {
		behave(how)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// behave answers as a command does that a user wrote: well, or wrongly from its second answer on.
func behave(how string) {
	in := bufio.NewReader(os.Stdin)
	say := func(format string, a ...any) { fmt.Printf(format+"\n", a...) }
	if _, err := in.ReadString('\n'); err != nil {
		return
	}
	if how == "silent" {
		_, _ = io.Copy(io.Discard, in)
		return
	}
	say(`{"stoker":"policy/1"}`)
	for n := 0; ; n++ {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		var r struct {
			ID       int64
			Episodes []struct {
				Observation map[string]struct{ Observation [][]float64 }
			}
		}
		if json.Unmarshal([]byte(line), &r) != nil {
			os.Exit(9)
		}
		if n > 0 {
			switch how {
			case "dies":
				fmt.Fprintln(os.Stderr, "Traceback: out of memory")
				os.Exit(3)
			case "garbage":
				say("loading weights…")
				return
			}
		}
		var all []string
		for _, e := range r.Episodes {
			all = append(all, fmt.Sprintf(`{"agent":[[%g,2.4],[-1,0.6]]}`, e.Observation["agent"].Observation[0][0]))
		}
		say(`{"id":%d,"actions":[%s]}`, r.ID, strings.Join(all, ","))
	}
}

// pair is an environment of two agents that see two numbers, and give one of [−1, 1] and a whole one of [0, 3].
func pair() *envs.Spec {
	return &envs.Spec{ID: "test/Pair-v1", Step: envs.Timing{Unit: "step"}, Kinds: []envs.Kind{{
		Name: "agent", Agents: 2, Observation: envs.Unbounded(2),
		Action: envs.Box{Low: []float32{-1, 0}, High: []float32{1, 3}, Integer: []bool{false, true}},
	}}}
}

// turns are episodes in which the first agent sees their number.
func turns(s *envs.Spec, n int) (out []Turn) {
	for i := range n {
		t := Turn{Slot: i, Seen: envs.NewObservation(s), Act: envs.NewAction(s)}
		t.Seen.Kinds[0].Values[0] = float32(i) / 4
		fill := t.Seen.Kinds[0].Active
		for j := range fill {
			fill[j] = true
		}
		out = append(out, t)
	}
	return out
}

// A command answers for all episodes at once, and whole numbers are rounded. One that dies, or prints something else, is
// out, with how it died and what it said.
func TestCommand(t *testing.T) {
	program := "cmd:'" + os.Args[0] + "'"
	for how, want := range map[string]string{
		"well": "", "dies": "exit status 3; its last lines on standard error: Traceback: out of memory", "garbage": `its answer "loading weights…"`,
	} {
		t.Setenv(childVar, how)
		p := must.Get(Open(t.Context(), program, pair(), Options{Timeout: time.Minute}))(t)
		all := turns(pair(), 3)
		must.Do(t, p.Act(t.Context(), all))
		for i, a := range all {
			if got := a.Act.Kinds[0]; !slices.Equal(got, []float32{float32(i) / 4, 2, -1, 1}) {
				t.Errorf("%s: episode %d: %v", how, i, got)
			}
		}
		err := p.Act(t.Context(), all)
		var f *Failure
		if want != "" && (!errors.As(err, &f) || !strings.Contains(err.Error(), want)) || want == "" && err != nil {
			t.Errorf("%s: %v, want %q", how, err, want)
		}
		must.Do(t, p.Close())
	}
	t.Setenv(childVar, "silent")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("stopped"))
	if _, err := Open(ctx, program, pair(), Options{}); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("stopped at the start: %v", err)
	}
}

// alone is a conversation without a process.
type alone struct{ *lines }

func (alone) note() string { return "" }
func (alone) close() error { return nil }

// A policy that answers late is out.
func TestLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := func() *Policy {
			unread, to := io.Pipe()
			from, silent := io.Pipe()
			t.Cleanup(func() { _, _ = unread.Close(), silent.Close() })
			return newPolicy(alone{&lines{spec: pair(), to: to, from: bufio.NewReader(from)}}, pair(), 10*time.Second)
		}
		p, begun := open(), time.Now()
		err := p.Act(t.Context(), turns(pair(), 2))
		var f *Failure
		if !errors.As(err, &f) || err.Error() != "it did not answer within 10s" || time.Since(begun) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := open().Act(ctx, turns(pair(), 2)); errors.As(err, &f) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the evaluation was stopped: %v", err)
		}
	})
}

// Answers of a wrong form name what is wrong, and the episode.
func TestAnswers(t *testing.T) {
	const good = `{"agent":[[0,1],[0,1]]}`
	for _, c := range []struct {
		answer, want string
		turn         int
	}{
		{`{"id":7,"actions":[` + good + `,` + good + `]}`, "", 0},
		{`{"id":7,"actions":[` + good + `,{"agent":[[[0],[1]],[[0],[1]]]}]}`, "", 0}, // dimensions of 1 may be added
		{`{"id":7,"actions":[` + good + `,{"agent":[0,1,0,1]}]}`, "has the shape [4], want [2 2]", 1},
		{`{"id":7,"actions":[` + good + `,{"agent":[[0,1],[0]]}]}`, "has lists of different lengths", 1},
		{`{"id":7,"actions":[` + good + `,{"agent":[[0,1],[0,"1"]]}]}`, "has 1 in it, want numbers", 1},
		{`{"id":7,"actions":[` + good + `,{"agent":[[0,1],[0,null]]}]}`, "want numbers", 1},
		{`{"id":7,"actions":[` + good + `,{"function":[[0,1],[0,1]]}]}`, "action of agent is missing", 1},
		{`{"id":7,"actions":[` + good + `,{"agent":[[0,1],[0,NaN]]}]}`, "invalid character 'N'", 0},
		{`{"id":7,"actions":[` + good + `]}`, "1 actions, want one for each of 2 episodes", 0},
		{`{"id":6,"actions":[` + good + `,` + good + `]}`, "has not the request's id, 7", 0},
		{`{"id":7,"error":"ValueError: no","episode":1}`, "ValueError: no", 1},
		{`{"id":7,"error":"ValueError: no","episode":9}`, "ValueError: no", 0},
		{`[1]`, "is not the JSON that is wanted", 0}, {``, "is not the JSON", 0},
	} {
		l := &lines{spec: pair(), id: 7}
		err := l.answer([]byte(c.answer), turns(pair(), 2))
		var f *Failure
		at := 0
		if errors.As(err, &f) {
			at = f.Turn
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || at != c.turn {
			t.Errorf("%s: turn %d, %v, want %d, %q", c.answer, at, err, c.turn, c.want)
		}
	}
}

// FuzzAnswer: no answer panics, and one that is taken is numbers.
func FuzzAnswer(f *testing.F) {
	good := `{"id":7,"actions":[{"agent":[[0,1],[0,1]]}]}`
	for n := range len(good) + 1 {
		f.Add([]byte(good[:n]))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		all := turns(pair(), 1)
		l := &lines{spec: pair(), id: 7}
		if l.answer(line, all) != nil {
			return
		}
		for _, x := range all[0].Act.Kinds[0] {
			if math.IsNaN(float64(x)) {
				t.Errorf("%q gives %v", line, all[0].Act.Kinds[0])
			}
		}
	})
}

// All ways of writing arrays say the same, and the hello is checked.
func TestRequests(t *testing.T) {
	l := &lines{spec: pair(), id: 1}
	text := string(must.Get(l.request(turns(pair(), 2)[1:]))(t))
	if want := `{"id":1,"episodes":[{"slot":1,"step":0,"observation":{"agent":{"observation":[[0.25,0],[0,0]],"active":[true,true]}}}]}` + "\n"; text != want {
		t.Errorf("%s, want %s", text, want)
	}
	l.arrays = "base64"
	text = string(must.Get(l.request(turns(pair(), 2)[1:]))(t))
	if want := `"active":{"dtype":"?","shape":[2],"base64":"AQE="}`; !strings.Contains(text, want) ||
		!strings.Contains(text, `"observation":{"dtype":"<f4","shape":[2,2],"base64":"AACAPgAAAAAAAAAAAAAAAA=="}`) {
		t.Errorf("%s, want %s in it", text, want)
	}
	l.arrays = "bytes"
	text = string(must.Get(l.request(turns(pair(), 2)))(t))
	line, after, _ := strings.Cut(text, "\n")
	for _, want := range []string{
		`"slot":0,"step":0,"observation":{"agent":{"observation":{"dtype":"<f4","shape":[2,2],"at":0},` +
			`"active":{"dtype":"?","shape":[2],"at":16}}`,
		`"observation":{"dtype":"<f4","shape":[2,2],"at":24},"active":{"dtype":"?","shape":[2],"at":40}`, `,"bytes":42}`,
	} {
		if !strings.Contains(line, want) {
			t.Errorf("%s, want %s in it", line, want)
		}
	}
	if want := "\x00\x00\x80\x3e" + strings.Repeat("\x00", 12) + "\x01\x01"; len(after) != 42 || after[24:] != want {
		t.Errorf("after the line are %q, want 42 bytes with %q in the end", after, want)
	}
	graphs := must.Get(placement.New(placement.Default(), workload.Default()))(t)
	seen := envs.NewObservation(graphs.Spec())
	must.Do(t, graphs.Reset(1, nil, seen))
	l = &lines{spec: graphs.Spec(), arrays: joined}
	text = string(must.Get(l.request([]Turn{{Slot: 3, Seen: seen}, {Slot: 5, Step: 2, Seen: seen}}))(t))
	for _, want := range []string{`"episodes":[{"slot":3,"step":0},{"slot":5,"step":2}],"observation":{"`, `"count":{"dtype":"<i8","shape":[2,3],"at":`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s, want %s in it", text, want)
		}
	}
	wants := func(spec *envs.Spec) error {
		l := &lines{spec: spec, to: io.Discard, from: bufio.NewReader(strings.NewReader(`{"stoker":"policy/1","arrays":"joined"}` + "\n"))}
		return l.greet(t.Context())
	}
	if err := wants(graphs.Spec()); err != nil {
		t.Error(err)
	}
	if err := wants(pair()); err == nil || !strings.Contains(err.Error(), `as "joined", want lists, base64 or bytes`) {
		t.Error(err)
	}
	for hello, want := range map[string]string{
		`{"stoker":"policy/1"}`: "", `{"stoker":"policy/1","arrays":"base64"}`: "", `{"stoker":"policy/1","arrays":"bytes"}`: "",
		`{"stoker":"policy/2"}`:                      `speaks "policy/2"`,
		`{"stoker":"policy/1","error":"no weights"}`: "no weights", `hi`: `its answer "hi"`, `{"stoker":"policy/1","arrays":"hex"}`: `as "hex"`,
	} {
		l := &lines{spec: pair(), to: io.Discard, from: bufio.NewReader(strings.NewReader(hello + "\n"))}
		if err := l.greet(t.Context()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", hello, err, want)
		}
	}
	for text, want := range map[string]string{"abc": "cut after 3 bytes", "abcdefg\n": "more than 5 bytes"} {
		if _, err := readLine(bufio.NewReader(strings.NewReader(text)), 5); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The model of a policy over graphs decides for all episodes in one call as the policy does, and for a single one too.
func TestGraphsJoined(t *testing.T) {
	python := onnxtest.Python(t)
	t.Setenv("PYTHONPATH", must.Get(filepath.Abs("../../python"))(t))
	b := policytest.Zoo(t, "gnn-placement", 30)
	file := filepath.Join(t.TempDir(), "x.onnx")
	must.Do(t, os.WriteFile(file, must.Get(onnx.Write(b))(t), 0o600))
	own := must.Get(policy.OpenBytes(policytest.Encode(t, b), policy.Options{NoGuard: true}))(t)
	ranges, draws := onnxtest.NewRanges(own.Spec()), rng.NewStream(1, "foreign: graphs")
	policytest.Play(t, policytest.World(t, b), own, 30, func(_ int, o *envs.Observation, _ *envs.Action) { ranges.Add(o) })
	p := must.Get(Open(t.Context(), file, own.Spec(), Options{Timeout: time.Minute, Python: python}))(t)
	for n := range 6 {
		all := make([]Turn, n+1)
		for i := range all {
			all[i] = Turn{Slot: i, Step: n, Seen: own.NewObservation(), Act: own.NewAction()}
			ranges.Draw(draws, all[i].Seen)
		}
		must.Do(t, p.Act(t.Context(), all))
		want := own.NewAction()
		for i, turn := range all {
			must.Get(own.Decide(t.Context(), turn.Seen, want))(t)
			if !slices.Equal(turn.Act.Kinds[0], want.Kinds[0]) {
				t.Errorf("episode %d of %d: the model chooses %v, the policy %v", i, n+1, turn.Act.Kinds[0], want.Kinds[0])
			}
		}
	}
	must.Do(t, p.Close())
}

// The lines that docs/judging.md shows are what is said, and its answers are taken.
func TestPage(t *testing.T) {
	text := string(must.Get(os.ReadFile("../../docs/judging.md"))(t))
	var said []string
	for _, b := range strings.Split(text, "```json\n")[1:] {
		b, _, _ = strings.Cut(b, "```")
		said = append(said, strings.Split(strings.TrimSpace(b), "\n")...)
	}
	if len(said) != 4 {
		t.Fatalf("the page has %d lines of the protocol: %q", len(said), said)
	}
	e := must.Get(classic.NewLQR(classic.DefaultLQR()))(t)
	l := &lines{spec: e.Spec(), to: io.Discard, from: bufio.NewReader(strings.NewReader(said[1] + "\n"))}
	must.Do(t, l.greet(t.Context()))
	turn := Turn{Seen: envs.NewObservation(l.spec), Act: envs.NewAction(l.spec)}
	turn.Seen.Kinds[0].Values[0], turn.Seen.Kinds[0].Active[0] = 0.5, true
	l.id = 1
	if request := string(must.Get(l.request([]Turn{turn}))(t)); request != said[2]+"\n" {
		t.Errorf("the request is %s, the page has %s", request, said[2])
	}
	if err := l.answer([]byte(said[3]), []Turn{turn}); err != nil || turn.Act.Kinds[0][0] != -0.25 {
		t.Errorf("%v, %v", turn.Act, err)
	}
	var h, shown hello
	must.Do(t, json.Unmarshal([]byte(said[0]), &shown))
	spec := must.Get(envs.EncodeSpec(l.spec))(t)
	h = hello{Stoker: Protocol, Spec: spec}
	if !strings.HasPrefix(string(spec), `{"id":"stoker/LQR-v1"`) || shown.Stoker != h.Stoker {
		t.Errorf("the page has %s, the first line %s", said[0], spec)
	}
}

// A command is split as a shell splits it.
func TestSplit(t *testing.T) {
	got := must.Get(split(`python  'my policy.py' --name="a \"b\" \n" c\ d ''`))(t)
	if want := []string{"python", "my policy.py", `--name=a "b" \n`, "c d", ""}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, line := range []string{`a 'b`, `a\`} {
		if _, err := split(line); err == nil {
			t.Errorf("%s is split", line)
		}
	}
}

// What names no policy, no command and no file is refused before anything runs, and so is a model with tensors elsewhere.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, b, 0o600))
		return path
	}
	message := func(field protowire.Number, inside []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), inside)
	}
	elsewhere := protowire.AppendVarint(protowire.AppendTag(nil, 14, protowire.VarintType), 1)
	deep := elsewhere
	for range mostDepth {
		deep = message(1, message(5, message(6, deep)))
	}
	large := file("large.onnx", nil)
	must.Do(t, os.Truncate(large, mostModel+1))
	for what, want := range map[string]string{
		"x.zip": "want a bundle", "cmd:": "there is no command", "cmd:no-such-program-here": "no-such-program-here", "cmd:'": "within quotes",
		"none.onnx": "none.onnx", large: "want a file of at most", file("text.onnx", []byte("text")): "it is no ONNX model",
		file("a.onnx", message(7, message(5, elsewhere))):                                 "tensors in other files",
		file("b.onnx", message(7, message(1, message(5, message(5, elsewhere))))):         "tensors in other files",
		file("c.onnx", message(25, message(7, message(5, message(5, message(13, nil)))))): "tensors in other files",
		file("d.onnx", message(7, deep)):                                                  "too deep", "http://127.0.0.1/": "want http://HOST", "grpc://127.0.0.1": "want grpc://HOST",
		file("empty.onnx", nil): "needs Python", "cmd:" + os.Args[0] + " -test.run=^$": `its answer "PASS"`,
	} {
		_, err := Open(t.Context(), what, pair(), Options{Timeout: time.Minute, Python: "no-such-python"})
		if err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(want, "needs Python", "need Python 3.10")) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
}

// FuzzModel: no file panics.
func FuzzModel(f *testing.F) {
	f.Add([]byte{0x3a, 4, 0x2a, 2, 0x70, 1})
	f.Fuzz(func(_ *testing.T, b []byte) { _ = checkMessage(b, "model", 0) })
}

// What a policy is named by tells what answers.
func TestForms(t *testing.T) {
	for what, want := range map[string]Form{
		"cmd:python x.py": Command, "http://h/v2/models/m": Server, "https://h/v2/models/m": Server, "grpc://h/m": Server,
		"grpcs://h/m": Server, "ftp://h/m": Unknown, "x.onnx": Model, "grpcs/x.stoker": Bundle, "x": Unknown,
	} {
		if got := FormOf(what); got != want {
			t.Errorf("%s is of form %d, want %d", what, got, want)
		}
	}
}
