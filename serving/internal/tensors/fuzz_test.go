package tensors_test

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/serving/internal/tensors"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/policy/policytest"
	"github.com/stoker-rl/stoker/serving/internal/wire"
)

// FuzzInfer: whatever a body holds, it is refused, or it becomes observations that every policy may be shown: finite
// numbers, edges between nodes that are there, a legal choice for everybody. Binary tensors follow the header.
func FuzzInfer(f *testing.F) {
	specs := map[string]*policy.Policy{}
	for _, name := range policytest.Names() {
		p := must.Get(policy.OpenBytes(policytest.Encode(f, policytest.Zoo(f, name, 10)), policy.Options{NoGuard: true}))(f)
		specs[name] = p
	}
	zeros := strings.TrimSuffix(strings.Repeat("0,", 222), ",")
	plain := `{"inputs":[{"name":"observation","shape":[1,6,37],"datatype":"FP32","data":[` + zeros + `]},` +
		`{"name":"active","shape":[1,6],"datatype":"BOOL","data":[true,true,false,true,true,true]}]}`
	f.Add([]byte(plain), len(plain))
	small := `{"inputs":[{"name":"observation","shape":[1,1,30],"datatype":"FP32","parameters":{"binary_data_size":120}}],` +
		`"outputs":[{"name":"scores","parameters":{"binary_data":true}}]}`
	f.Add([]byte(small+strings.Repeat("\x00\x00\x00\x3f", 30)), len(small))
	graph := `{"inputs":[{"name":"node.node","shape":[0,14],"datatype":"FP32","data":[]},{"name":"edge.sharing.index","shape":[2,1],` +
		`"datatype":"INT64","data":[0,0]},{"name":"legal.node","shape":[2,4,1],"datatype":"BOOL","data":[true,true,false,false,true,false,false,false]}]}`
	f.Add([]byte(graph), len(graph))
	pools := map[string]*tensors.Pool{}
	for name, p := range specs {
		l := must.Get(tensors.New(p.Spec(), nil))(f)
		pools[name] = tensors.NewPool(l)
	}
	f.Fuzz(func(t *testing.T, body []byte, header int) {
		var r wire.Request
		if err := r.Parse(body, header); err != nil {
			return
		}
		for name, pool := range pools {
			n, err := pool.Rows(&r, 16)
			if err != nil {
				continue
			}
			b, err := pool.Read(&r, n)
			if err != nil {
				continue
			}
			for i := range b.N {
				if err := sound(specs[name].Spec(), b.Seen(i)); err != "" {
					t.Errorf("%s: row %d: %s", name, i, err)
				}
				if _, err := specs[name].Decide(t.Context(), b.Seen(i), b.Action(i)); err != nil {
					t.Errorf("%s: row %d: %v", name, i, err)
				}
			}
			if _, err := pool.Results(&r, b, nil); err != nil && len(r.Outputs) == 0 {
				t.Error(err)
			}
			pool.Put(b)
		}
	})
}

// sound says what is wrong with an observation.
func sound(s *envs.Spec, o *envs.Observation) string {
	for k := range s.Kinds {
		if i := envs.NotFinite(o.Kinds[k].Values); i >= 0 {
			return "a number is not finite"
		}
		for _, g := range o.Kinds[k].Graphs {
			if err := g.Space.Check(g); err != nil {
				return err.Error()
			}
		}
	}
	return ""
}
