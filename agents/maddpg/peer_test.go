package maddpg

import (
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints/safetensors"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/tools/proof"
)

var (
	peerPython = flag.String("peer-python", "",
		"a Python that has torch, to compare gradients with -peer-script at the sizes that are measured")
	peerScript = flag.String("peer-script", "", "the PyTorch update to compare with (see testdata/peer_gradients.py)")
)

// peerFile is what peer_gradients.py wrote.
type peerFile struct {
	t *testing.T
	f *safetensors.File
}

func (p peerFile) values(name string) []float64 {
	p.t.Helper()
	x, err := p.f.Tensor(name)
	if err != nil {
		p.t.Fatal(err)
	}
	if v, err := safetensors.Values[float64](x); err == nil {
		return v
	}
	v, err := safetensors.Values[float32](x)
	if err != nil {
		p.t.Fatal(err)
	}
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

func (p peerFile) number(name string) int {
	p.t.Helper()
	n, err := strconv.Atoi(p.f.Metadata[name])
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// params returns a network's parameters in our order: agent by agent, each in the order of the layout's slots.
func (p peerFile) params(prefix string, a nets.Arch) []float64 {
	p.t.Helper()
	slots, size := nets.Layout(a)
	out := make([]float64, a.Groups()*size)
	for _, s := range slots {
		x := p.values(prefix + s.Name)
		if len(x) != a.Groups()*s.Size() {
			p.t.Fatalf("%s%s has %d numbers, want %d", prefix, s.Name, len(x), a.Groups()*s.Size())
		}
		for g := range a.Groups() {
			copy(out[g*size+s.Offset:][:s.Size()], x[g*s.Size():])
		}
	}
	return out
}

// spec is the peer's problem: which agents see each other.
func (p peerFile) spec() *envs.Spec {
	n, mask := p.number("agents"), p.values("mask")
	k := envs.Kind{Name: "agent", Agents: n, Observation: envs.Unbounded(10), Action: envs.NewBox(4, 0, 1),
		Neighbours: make([][]int, n)}
	for i := range n {
		for j := range n {
			if mask[i*n+j] != 0 {
				k.Neighbours[i] = append(k.Neighbours[i], j)
			}
		}
	}
	return &envs.Spec{ID: "peer", Kinds: []envs.Kind{k}}
}

// firstGradients does the peer's first update with our learner on an engine. It returns the largest differences from
// the peer's gradients, relative to the largest gradient, and how many exceed a bound.
func (p peerFile) firstGradients(o native.Options, bound float64) (critic, actor float64, beyond int) {
	p.t.Helper()
	c := Default()
	c.Batch, c.Hidden, c.Keys, c.Clip, c.LogitPenalty = p.number("batch"), []int{p.number("hidden"), p.number("hidden")},
		p.number("keys"), 0, 0
	c.Replay = max(c.Replay, c.Batch)
	prob, err := newProblem(c.Mix, p.spec())
	if err != nil {
		p.t.Fatal(err)
	}
	e := native.New(o)
	defer e.Close()
	u, err := newUpdate(&c, &prob, e, rng.New(1, "replaced below"))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, n := range []struct {
		prefix string
		nets   []nets.Net
	}{{"actor.", []nets.Net{u.actor, u.actorTarget}}, {"critic.", []nets.Net{u.critic, u.criticTarget}}} {
		for _, x := range n.nets {
			x.Params().Set64(p.params(n.prefix, x.Arch()))
		}
	}
	u.s.Set64(p.values("s"))
	u.a.Set64(p.values("a"))
	u.r.Set64(p.values("r"))
	u.s2.Set64(p.values("s2"))
	discount := make([]float64, nets.Size(u.discount))
	for i := range discount {
		discount[i] = c.Gamma
	}
	u.discount.Set64(discount)
	if err := u.run(); err != nil {
		p.t.Fatal(err)
	}
	far := func(prefix string, n nets.Net) float64 {
		got := get(n.Grads())
		worst, largest, want := 0.0, 0.0, p.params(prefix, n.Arch())
		for _, x := range want {
			largest = max(largest, math.Abs(x))
		}
		if largest == 0 {
			p.t.Errorf("%s: all of the peer's gradients are 0", prefix)
		}
		for i, x := range want {
			d := math.Abs(got[i]-x) / largest
			worst = max(worst, d)
			if !(d <= bound) {
				beyond++
			}
		}
		return worst
	}
	critic, actor = far("grad.critic.", u.critic), far("grad.actor.", u.actor)
	if err := e.Err(); err != nil {
		p.t.Fatal(err)
	}
	return critic, actor, beyond
}

func readPeer(t *testing.T, path string) peerFile {
	t.Helper()
	b := must.Get(os.ReadFile(path))(t)
	f := must.Get(safetensors.Parse(b))(t)
	return peerFile{t, f}
}

func (p peerFile) claim(command string) {
	p.t.Helper()
	row := func(what string, bound float64, o native.Options) {
		critic, actor, beyond := p.firstGradients(o, bound)
		proof.Claim(p.t, proof.Row{
			Topic: "speed",
			Claim: fmt.Sprintf("First gradients of an update from the same parameters and batch as %s, %d agents × %d, %s",
				p.f.Metadata["peer"], p.number("agents"), p.number("batch"), what),
			Bound:    fmt.Sprintf("%.0e of the largest", bound),
			Measured: fmt.Sprintf("critic %.1e, actor %.1e, %d numbers beyond", critic, actor, beyond), Holds: beyond == 0,
			Command: command,
		})
	}
	if strings.HasSuffix(p.f.Metadata["peer"], "float64") {
		row("float64", 1e-9, native.Options{DType: nets.Float64})
		return
	}
	for _, k := range []string{"avx512", "avx2", "go"} {
		o := native.Options{Kernels: k}
		if e := native.New(o); e.Err() != nil {
			p.t.Logf("%s: not on this machine", k)
			continue
		}
		row("kernels "+k, 1e-5, o)
	}
}

// TestPeerGradients: our update computes what PyTorch's does. testdata/torch_attmf.safetensors was written by
//
//	python agents/maddpg/testdata/peer_gradients.py torch_attmf.py OUT --form stacked --agents 3 --batch 8 --hidden 12 --keys 8
//
// with torch 2.11.0. Where ReLU's input is 0 but for rounding, the direction of its float32 gradient is arbitrary, and
// among millions of inputs there is always one such; differences without rounding are compared in float64. With
// -peer-python and -peer-script the script runs again, at the sizes that are measured.
func TestPeerGradients(t *testing.T) {
	readPeer(t, filepath.Join("testdata", "torch_attmf.safetensors")).claim("")
	if *peerPython == "" {
		return
	}
	for _, n := range []int{5, 12, 50} {
		for _, b := range []int{64, 1024} {
			for _, precision := range []string{"", "--double"} {
				out := filepath.Join(t.TempDir(), "peer.safetensors")
				args := []string{filepath.Join("testdata", "peer_gradients.py"), *peerScript, out,
					"--form", "lean", "--agents", strconv.Itoa(n), "--batch", strconv.Itoa(b)}
				if precision != "" {
					args = append(args, precision)
				}
				if text, err := exec.Command(*peerPython, args...).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, text)
				}
				readPeer(t, out).claim("go test ./agents/maddpg -run '^TestPeerGradients$' -peer-python PYTHON -peer-script torch_attmf.py")
			}
		}
	}
}
