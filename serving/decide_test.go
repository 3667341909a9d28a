package serving_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/policy/policytest"
	"github.com/stoker-rl/stoker/serving"
)

// measurements are what a platform measures after some steps of an episode.
func measurements(t *testing.T, name string) string {
	t.Helper()
	f := policytest.Zoo(t, name, 10)
	env := policytest.World(t, f)
	p, err := policy.OpenBytes(policytest.Encode(t, f), policy.Options{NoGuard: true})
	must.Do(t, err)
	var out []byte
	policytest.Play(t, env, p, 10, func(int, *envs.Observation, *envs.Action) {
		var v any
		switch e := env.(type) {
		case *placement.Env:
			c := &placement.Cluster{}
			e.Cluster(c)
			v = c
		case *sizing.Many:
			all := []*sizing.Meters{}
			for _, w := range e.Workflows() {
				all = append(all, w.Meters())
			}
			v = all
		case *sizing.Env:
			v = e.Meters()
		}
		if out, err = json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	})
	return string(out)
}

// What a platform measured, as JSON, gets what to do there: the same as package policy decides.
func TestDecide(t *testing.T) {
	r := start(t, []string{"faasconf", "gnn-placement"}, nil, serving.Files{})
	for _, name := range []string{"faasconf", "gnn-placement"} {
		sent := measurements(t, name)
		p := must.Get(policy.OpenBytes(bundleOf(t, name), policy.Options{}))(t)
		d, done, err := p.DecideMeasured(t.Context(), []byte(sent), policy.Request{})
		must.Do(t, err)
		want := must.Get(json.Marshal(done))(t)
		status, body, _ := r.send(t, "POST", "/v2/models/"+name+"/decide?sequence_id=7&sequence_start=true&timeout=3600000000", sent)
		var got struct {
			Model    string          `json:"model_name"`
			Version  string          `json:"model_version"`
			By       string          `json:"decided_by"`
			Decision json.RawMessage `json:"decision"`
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || status != http.StatusOK || got.Model != name ||
			got.Version != p.Digest() || got.By != string(d.By) || string(got.Decision) != string(want) {
			t.Errorf("%s: %d %s, want %s by %v", name, status, body, want, d)
		}
	}
	meters := measurements(t, "faasconf")
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{faasconf + "/decide", strings.Replace(meters, `"p95"`, `"p59"`, 1), http.StatusBadRequest, `unknown field \"p59\"`},
		{faasconf + "/decide", strings.Replace(meters, `"rejected":`, `"rejected":9`, 1), http.StatusBadRequest, "].rejected is "},
		{faasconf + "/decide", `{"functions":[{}]}`, http.StatusBadRequest, `functions[0].deployed is missing, of \"starter\"`},
		{faasconf + "/decide", strings.Replace(meters, `"rejected":`, `"rejected":"x","r":`, 1), http.StatusBadRequest,
			`functions[0].rejected is a string, want a number, of \"starter\"`},
		{faasconf + "/decide", meters[:99], http.StatusBadRequest, "unexpected EOF"},
		{faasconf + "/decide?sequence=1", meters, http.StatusBadRequest, `unknown parameter \"sequence\"`},
		{faasconf + "/decide?timeout=soon", meters, http.StatusBadRequest, "parameters.timeout: is soon, want microseconds"},
		{faasconf + "/decide?sequence_id=1;timeout=2", meters, http.StatusBadRequest, "query: invalid semicolon"},
		{faasconf + "/decide?sequence_id=%zz", meters, http.StatusBadRequest, `query: invalid URL escape \"%zz\"`},
		{faasconf + "/decide?timeout=1&timeout=2", meters, http.StatusBadRequest, "timeout is given 2 times"},
		{"/v2/models/nobody/decide", meters, http.StatusNotFound, "no model is called"},
		{"/v2/models/gnn-placement/decide", meters, http.StatusBadRequest, "cluster: not the JSON that is expected"},
		{faasconf + "/decide", strings.Repeat(" ", 9<<20), http.StatusRequestEntityTooLarge, "larger than 8388608"},
	} {
		if status, body, _ := r.send(t, "POST", c.path, c.body); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s, want %d with %q", c.path, status, body, c.status, c.want)
		}
	}
	_, page, _ := r.send(t, "GET", "/metrics", "")
	for _, line := range []string{`stoker_decisions_total{by="policy",model="faasconf"} 1`,
		`stoker_errors_total{code="400",model="faasconf",protocol="http"} 10`} {
		if !strings.Contains(page, line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
}

// GET answers a body that POST takes as it is, and the units and ranges of its keys; a model without measurements says
// that it wants tensors.
func TestDecideExample(t *testing.T) {
	r := start(t, []string{"faasconf", "gnn-placement", "hops-pricer"}, nil, serving.Files{})
	for name, want := range map[string]string{
		"faasconf":      `{"key":"functions[].cpu_percent","unit":"% of a core, sum of the instances"}`,
		"gnn-placement": `{"key":"nodes[].recent","unit":"share of the CPU, 0 to 1"}`,
		"hops-pricer":   `{"key":"tiers[].price","unit":"money per billing unit"}`,
	} {
		path := "/v2/models/" + name + "/decide"
		status, body, h := r.send(t, "GET", path, "")
		if status != http.StatusOK || h.Get("Content-Type") != "application/json" {
			t.Fatalf("%s: %d %s", name, status, body)
		}
		if status, text, _ := r.send(t, "POST", path, body); status != http.StatusOK {
			t.Errorf("%s: %d %s for %s", name, status, text, body)
		}
		if status, text, _ := r.send(t, "GET", path+"/units", ""); status != http.StatusOK || !strings.Contains(text, want) ||
			!strings.Contains(text, `"readings":[{"key":"`) {
			t.Errorf("%s: %d %s, want %s", name, status, text, want)
		}
	}
	f := policytest.Zoo(t, "hops-scheduler", 4) // its service times would be in files
	f.Environment.Config = []byte(strings.Replace(string(f.Environment.Config), `"service":"profile"`, `"service":"measured"`, 1))
	write(t, filepath.Join(r.dir, "faasconf.stoker"), policytest.Encode(t, f))
	r.reload <- struct{}{}
	r.reload <- struct{}{}
	for _, path := range []string{"/decide", "/decide/units"} {
		status, body, _ := r.send(t, "GET", faasconf+path, "")
		if status != http.StatusNotFound || !strings.Contains(body, `takes no measurements, send it tensors`) {
			t.Errorf("%d %s", status, body)
		}
		if status, body, _ := r.send(t, "GET", "/v2/models/nobody"+path, ""); status != http.StatusNotFound {
			t.Errorf("nobody: %d %s", status, body)
		}
	}
}
