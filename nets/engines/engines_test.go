package engines

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
)

func TestOpen(t *testing.T) {
	for _, name := range Names() {
		for _, d := range []nets.DType{nets.Float32, nets.Float64} {
			e := must.Get(Open(name, Options{DType: d}))(t)
			if i := e.Info(); i.Name != name || i.Device != "cpu" || i.DType != d.String() || i.Kernels == "" || i.Threads < 1 {
				t.Errorf("%s in %v describes itself as %+v", name, d, i)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	for _, name := range []string{Native, Gorgonia} {
		if !slices.Contains(Names(), name) {
			t.Errorf("engines are %v, want %s among them", Names(), name)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"tensorflow", Options{}, `no engine "tensorflow", want native, torch or gorgonia`},
		{"", Options{}, `no engine ""`},
		{Native, Options{Device: "cuda:0"}, `not on "cuda:0": want engine torch`},
		{Native, Options{DType: 7}, "DType(7), want float32 or float64"},
		{Native, Options{Threads: -1}, "threads is -1"},
		{Gorgonia, Options{Device: "cuda:0"}, `not on "cuda:0": want engine torch`},
	} {
		if _, err := Open(c.name, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q with %+v: error is %v, want one with %q", c.name, c.o, err, c.want)
		}
	}
	if !slices.Contains(Names(), Torch) {
		var missing *UnavailableError
		if _, err := Open(Torch, Options{}); !errors.As(err, &missing) || missing.Engine != Torch || missing.Advice == "" {
			t.Errorf("torch: error is %v, want an UnavailableError with advice", err)
		}
	}
}

func ExampleOpen() {
	e, err := Open(Native, Options{Device: "cpu"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	fmt.Println(e.Info().Name, e.Info().DType)
	// Output: native float32
}
