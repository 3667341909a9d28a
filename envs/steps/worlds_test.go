package steps

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// Wide graphs have the number of steps that is asked for, all from one entry to one end, and forks of at least three
// steps where there are six or more.
func TestWide(t *testing.T) {
	for count := 3; count <= 32; count++ {
		for n := range uint64(8) {
			g := wide(count, rng.New(n, "test"))
			w := must.Get(g.Compile())(t)
			if w.NumNodes() != count {
				t.Fatalf("%d steps, want %d", w.NumNodes(), count)
			}
			out := map[string]int{}
			for _, e := range g.Edges {
				out[e.From]++
			}
			widest, ends := 0, 0
			for _, node := range g.Nodes {
				widest = max(widest, out[node.Name])
				if out[node.Name] == 0 {
					ends++
				}
			}
			if ends != 1 || count >= 6 && widest < 3 {
				t.Errorf("%d steps, number %d: %d ends, and forks of at most %d", count, n, ends, widest)
			}
		}
	}
	a := must.Get(Generate(3, Generated{Steps: []int{9, 9}, Shape: WideShape, Platform: Knative}))(t)
	if len(a.Steps) != 9 || a.Workflow.Edges[0].Kind != workflow.Next {
		t.Errorf("%d steps, edges of kind %s", len(a.Steps), a.Workflow.Edges[0].Kind)
	}
}

// Workers are drawn within their range, not the same for all. The base of SLOs is larger on a small cluster than on a large
// one; there it is at most the longest path, on which alone adds the 90th percentiles.
func TestWorkersAndBase(t *testing.T) {
	c := DefaultEnv()
	c.Platform, c.Shape, c.Steps, c.Workers, c.Apps = Knative, WideShape, []int{8, 10}, []int{1, 2}, 4
	alone := must.Get(newShelf(c, nil))(t)
	c.Base = OnCluster
	shared := must.Get(newShelf(c, nil))(t)
	c.Workers = []int{400, 400}
	large := must.Get(newShelf(c, nil))(t)
	c.Base = Alone
	path := must.Get(newShelf(c, nil))(t)
	seen := map[int]bool{}
	for seed := range uint64(4) {
		a, s, l := must.Get(alone.entry(seed))(t), must.Get(shared.entry(seed))(t), must.Get(large.entry(seed))(t)
		n := a.truth.Platform.Workers
		if seen[n] = true; n < 1 || n > 2 || n != s.truth.Platform.Workers {
			t.Errorf("%d and %d workers, want 1 or 2", n, s.truth.Platform.Workers)
		}
		if x := s.known.Fastest / l.known.Fastest; x < 1.15 {
			t.Errorf("number %d: the base on %d workers is %.3g times that on 400", seed, n, x)
		}
		if x := l.known.Fastest / must.Get(path.entry(seed))(t).known.Fastest; x < 0.5 || x > 1.02 {
			t.Errorf("number %d on 400 workers: the base is %.3g times the longest path", seed, x)
		}
	}
	if len(seen) < 2 {
		t.Errorf("numbers of workers %v, want several", seen)
	}
}

func TestWorldsRefused(t *testing.T) {
	for want, change := range map[string]func(*EnvConfig){
		"workers is [3 2]":        func(c *EnvConfig) { c.Workers = []int{3, 2} },
		"workers is [0 2]":        func(c *EnvConfig) { c.Workers = []int{0, 2} },
		"workers is of a cluster": func(c *EnvConfig) { c.Workflow, c.Workers = "chain", []int{2, 3} },
		"base is of a cluster":    func(c *EnvConfig) { c.Workflow, c.Base = "chain", OnCluster },
	} {
		c := DefaultEnv()
		change(&c)
		if _, err := New(c, Given{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
