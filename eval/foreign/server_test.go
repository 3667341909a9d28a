package foreign

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/policy/onnx"
	"github.com/stoker-rl/stoker/policy/onnx/onnxtest"
	"github.com/stoker-rl/stoker/policy/policytest"
	"github.com/stoker-rl/stoker/serving"
	"github.com/stoker-rl/stoker/serving/models"
)

// played is a shipped policy with turns of an episode, and what it does in each.
func played(t *testing.T, name string) (f *bundle.File, spec *envs.Spec, all []Turn, want []*envs.Action) {
	t.Helper()
	f = policytest.Zoo(t, name, 20)
	p := must.Get(policy.OpenBytes(policytest.Encode(t, f), policy.Options{NoGuard: true}))(t)
	policytest.Play(t, policytest.World(t, f), p, 10, func(i int, o *envs.Observation, a *envs.Action) {
		turn := Turn{Slot: i, Seen: p.NewObservation(), Act: p.NewAction()}
		turn.Seen.CopyFrom(o)
		did := p.NewAction()
		for k := range did.Kinds {
			copy(did.Kinds[k], a.Kinds[k])
		}
		all, want = append(all, turn), append(want, did)
	})
	return f, p.Spec(), all, want
}

// differ is the largest difference between what was done and what was to be done.
func differ(all []Turn, want []*envs.Action) (most float64) {
	for i, turn := range all {
		for k, act := range turn.Act.Kinds {
			for j, x := range act {
				most = max(most, math.Abs(float64(x-want[i].Kinds[k][j])))
			}
		}
	}
	return most
}

// Stoker's own server, over HTTP and gRPC, decides as the policy that it serves.
func TestServer(t *testing.T) {
	for _, name := range policytest.Names() {
		f, spec, all, want := played(t, name)
		path := filepath.Join(t.TempDir(), "m.stoker")
		must.Do(t, os.WriteFile(path, policytest.Encode(t, f), 0o600))
		o := serving.Defaults()
		o.Grace, o.Linger = 0, 0
		s := must.Get(serving.Open([]models.Spec{{Name: "m", Path: path}}, "", policy.Options{NoGuard: true}, nil, o))(t)
		l := serving.Listeners{HTTP: must.Get(net.Listen("tcp", "127.0.0.1:0"))(t), GRPC: must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx, l, nil) }()
		for _, address := range []string{fmt.Sprintf("http://%s/v2/models/m", l.HTTP.Addr()), fmt.Sprintf("grpc://%s/m", l.GRPC.Addr())} {
			p := must.Get(Open(t.Context(), address, spec, Options{Timeout: time.Minute}))(t)
			for _, turn := range all {
				for k := range turn.Act.Kinds {
					clear(turn.Act.Kinds[k])
				}
			}
			must.Do(t, p.Act(t.Context(), all))
			if d := differ(all, want); d != 0 || p.Note() != "" {
				t.Errorf("%s at %s: actions differ by %g; note %q", name, address, d, p.Note())
			}
			must.Do(t, p.Close())
			if _, err := Open(t.Context(), address, pair(), Options{}); err == nil || !strings.Contains(err.Error(), "in test/Pair-v1 it is FP32 [-1 2 2]") &&
				!strings.Contains(err.Error(), "is not among what test/Pair-v1 shows") {
				t.Errorf("%s for another environment: %v", name, err)
			}
		}
		stop()
		<-done
	}
}

// Another server is asked for all episodes at once. What it answers wrongly puts it out.
func TestOtherServer(t *testing.T) {
	const metadata = `{"platform":"p","inputs":[{"name":"observation","datatype":"FP32","shape":[-1,2,2]}],` +
		`"outputs":[{"name":"action","datatype":"FP32","shape":[-1,2,2]}]}`
	answer, status := "", http.StatusOK
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, metadata)
			return
		}
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	}))
	defer h.Close()
	p := must.Get(Open(t.Context(), h.URL+"/v2/models/m", pair(), Options{Timeout: time.Minute}))(t)
	good := `{"outputs":[{"name":"action","datatype":"FP32","shape":[2,2,2],"data":[0,1.4,0,1,0,2,0,3]}]}`
	answer = good
	all := turns(pair(), 2)
	if err := p.Act(t.Context(), all); err != nil || !slices.Equal(all[1].Act.Kinds[0], []float32{0, 2, 0, 3}) || all[0].Act.Kinds[0][1] != 1 {
		t.Errorf("%v, %v", all[1].Act.Kinds[0], err)
	}
	for n := range good {
		if answer = good[:n]; p.Act(t.Context(), all) == nil {
			t.Errorf("an answer that was cut after %d bytes is taken", n)
		}
	}
	for text, want := range map[string]string{
		strings.Replace(good, ",0,3]", ",0,null]", 1): "not finite", strings.Replace(good, "action", "actions", 1): `no output "action"`,
		`{"outputs":[{"name":"action","shape":[1,2,2],"data":[0,1,0,1]}]}`: "want 4 numbers for each of 2 episodes",
	} {
		answer = text
		if err := p.Act(t.Context(), all); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	answer, status = `{"error":"no such model"}`, http.StatusNotFound
	if err := p.Act(t.Context(), all); err == nil || !strings.Contains(err.Error(), "404 Not Found: no such model") {
		t.Errorf("%v", err)
	}
	must.Do(t, p.Close())
}

// onnxruntime, by way of stoker_rl, decides as the policy that was exported, to rounding.
func TestModel(t *testing.T) {
	python := onnxtest.Python(t)
	t.Setenv("PYTHONPATH", must.Get(filepath.Abs("../../python"))(t))
	for _, name := range policytest.Names() {
		f, spec, all, want := played(t, name)
		path := filepath.Join(t.TempDir(), "m.onnx")
		must.Do(t, os.WriteFile(path, must.Get(onnx.Write(f))(t), 0o600))
		o := Options{Timeout: time.Minute, Python: python}
		p := must.Get(Open(t.Context(), path, spec, o))(t)
		must.Do(t, p.Act(t.Context(), all))
		if d := differ(all, want); d > 1e-5 {
			t.Errorf("%s: actions differ by %g", name, d)
		}
		must.Do(t, p.Close())
		if _, err := Open(t.Context(), path, pair(), o); err == nil || !strings.Contains(err.Error(), "in the environment it is [batch, 2, 2]") &&
			!strings.Contains(err.Error(), "is not known") {
			t.Errorf("%s for another environment: %v", name, err)
		}
		o.Bind = "obs=observation"
		if _, err := Open(t.Context(), path, spec, o); err == nil || !strings.Contains(err.Error(), "has no input or output 'obs'") {
			t.Errorf("%s with a name that it has not: %v", name, err)
		}
	}
}

// The other side's own tests, in Python.
func TestPython(t *testing.T) {
	c := exec.CommandContext(t.Context(), onnxtest.Python(t), "-m", "unittest", "discover", "-s", "../../python/tests")
	c.Env = append(os.Environ(), "PYTHONPATH="+must.Get(filepath.Abs("../../python"))(t))
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
