package native_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

// blocks are the methods of this engine's tensors that package nets does not require.
type blocks interface {
	SetBlock(agent, row, rows, from, width int, src []float32, stride int)
	GetBlock(agent, row, rows int, dst []float32)
}

// SetBlock from rows of a larger array gives the same tensor as one Set, and GetBlock returns its blocks: in tiles
// of all sizes, with blocks that begin and end anywhere, and in plain Go.
func TestSetBlock(t *testing.T) {
	s := rng.NewStream(1, "blocks")
	for _, o := range []native.Options{{}, {Kernels: native.Reference}, {Kernels: native.Go}, {DType: nets.Float64}} {
		for _, shape := range [][3]int{{1, 1, 3}, {2, 17, 5}, {3, 100, 7}, {5, 64, 10}, {3, 300, 18}} {
			e := native.New(o)
			agents, batch, width := shape[0], shape[1], shape[2]
			want, got := e.NewTensor(agents, batch, width), e.NewTensor(agents, batch, width)
			x := make([]float32, agents*batch*width)
			for i := range x {
				x[i] = float32(s.Norm())
			}
			want.Set(x)
			// Rows of a larger array: the features of all agents, with other values before and after them.
			stride := agents*width + 3
			rows := make([]float32, batch*stride)
			for b := range batch {
				for a := range agents {
					copy(rows[b*stride+2+a*width:], x[(a*batch+b)*width:][:width])
				}
			}
			for a := range agents {
				for row := 0; row < batch; {
					n := min(1+s.IntN(90), batch-row)
					if row%64 == 0 && n >= 64 {
						n = n / 64 * 64
					}
					split := s.IntN(width + 1)
					set := got.(blocks).SetBlock
					set(a, row, n, 0, split, rows[row*stride+2+a*width:], stride)
					if split < width {
						set(a, row, n, split, width-split, rows[row*stride+2+a*width+split:], stride)
					}
					row += n
				}
			}
			for a := range agents {
				for row := 0; row < batch; {
					n := min(1+s.IntN(90), batch-row)
					block := make([]float32, n*width)
					got.(blocks).GetBlock(a, row, n, block)
					if whole := x[(a*batch+row)*width:][:n*width]; !slices.Equal(block, whole) {
						t.Errorf("%+v, %v: samples %d to %d of agent %d are %v, want %v", o, shape, row, row+n, a, block, whole)
					}
					row += n
				}
			}
			noError(t, e)
			if a, b := values(want), values(got); !slices.Equal(a, b) {
				t.Errorf("%+v, %v: blocks differ from the whole", o, shape)
			}
		}
	}
}

func TestSetBlockRefuses(t *testing.T) { onBackends(t, checkSetBlockRefuses) }

func checkSetBlockRefuses(t *testing.T, o native.Options, _ float64) {
	e := native.New(o)
	x := e.NewTensor(2, 20, 3).(blocks)
	src := make([]float32, 100)
	for _, c := range [][6]int{{2, 0, 1, 0, 1, 5}, {-1, 0, 1, 0, 1, 5}, {0, 19, 2, 0, 1, 5}, {0, 0, 1, 2, 2, 5},
		{0, 0, 20, 0, 3, 6}, {0, -1, 1, 0, 1, 5}, {0, 0, 1, 0, 1, -1}} {
		x.SetBlock(c[0], c[1], c[2], c[3], c[4], src, c[5])
		if err := e.Err(); err == nil || !strings.Contains(err.Error(), "SetBlock") {
			t.Errorf("SetBlock accepted %v: %v", c, err)
		}
	}
	for _, c := range [][4]int{{2, 0, 1, 3}, {-1, 0, 1, 3}, {0, 19, 2, 6}, {0, -1, 1, 3}, {0, 0, 2, 3}} {
		x.GetBlock(c[0], c[1], c[2], src[:c[3]])
		if err := e.Err(); err == nil || !strings.Contains(err.Error(), "GetBlock") {
			t.Errorf("GetBlock accepted %v: %v", c, err)
		}
	}
	x.SetBlock(0, 0, 0, 0, 3, nil, 0) // nothing
	x.GetBlock(0, 0, 0, nil)
	noError(t, e)
}

func BenchmarkSetBlock(b *testing.B) {
	const agents, batch, width, stride = 3, 1024, 54, 135
	e := native.New(native.Options{})
	x := e.NewTensor(agents, batch, width).(blocks)
	src := make([]float32, batch*stride)
	b.SetBytes(4 * agents * batch * width)
	b.ReportAllocs()
	for b.Loop() {
		for a := range agents {
			x.SetBlock(a, 0, batch, 0, width, src, stride)
		}
	}
	noError(b, e)
}
