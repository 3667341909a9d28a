package policy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/policy/policytest"
)

// An example is taken as it is, and the policy itself decides on it; its units name every key of the body.
func TestExample(t *testing.T) {
	for _, name := range append(policytest.Names(), "hops-scheduler") {
		f := policytest.Zoo(t, name, 30)
		p := served(t, f, policy.Options{})
		e, err := p.Example()
		noError(t, err)
		d, done, err := p.DecideMeasured(t.Context(), e.Body, policy.Request{})
		if err != nil || done == nil || name != "gnn-placement" && d.By != policy.ByPolicy {
			t.Errorf("%s: %v, %v for\n%s", name, d, err, e.Body)
		}
		units := map[string]bool{}
		for _, u := range e.Units {
			units[u.Key] = u.Unit != ""
		}
		var body any
		noError(t, json.Unmarshal(e.Body, &body))
		leaves(body, "", func(key string) {
			if !units[key] {
				t.Errorf("%s: no unit of %q, there are %v", name, key, e.Units)
			}
		})
		if len(e.Readings) == 0 {
			t.Errorf("%s: no readings", name)
		}
		// A bundle that shows nothing still says which keys there are.
		f.SelfTest, f.Seen = nil, nil
		bare := served(t, f, policy.Options{NoGuard: true})
		e, err = bare.Example()
		noError(t, err)
		if _, _, err := bare.DecideMeasured(t.Context(), e.Body, policy.Request{}); err != nil {
			t.Errorf("%s, without observations: %v for %s", name, err, e.Body)
		}
	}
}

// leaves calls f with the key of each number, with [] for places in lists.
func leaves(v any, key string, f func(key string)) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			leaves(x, strings.TrimPrefix(key+"."+k, "."), f)
		}
	case []any:
		for _, x := range v {
			leaves(x, key+"[]", f)
		}
	case float64:
		f(key)
	}
}

// put writes a number into JSON.
func put(t *testing.T, body []byte, key string, x float64) []byte {
	t.Helper()
	var v any
	noError(t, json.Unmarshal(body, &v))
	at, path := v, regexp.MustCompile(`[^.\[\]]+`).FindAllString(key, -1)
	for _, k := range path[:len(path)-1] {
		if i, err := strconv.Atoi(k); err == nil {
			at = at.([]any)[i]
		} else {
			at = at.(map[string]any)[k]
		}
	}
	last := path[len(path)-1]
	if i, err := strconv.Atoi(last); err == nil {
		at.([]any)[i] = x
	} else {
		at.(map[string]any)[last] = x
	}
	return marshal(t, v)
}

// What the guard refuses is named as it was measured: by its key, its function, and bounds in the platform's unit, with
// and without a fallback. Just within these bounds it is taken.
func TestRefusedReading(t *testing.T) {
	for _, name := range []string{"faasconf", "hops-pricer", "hops-dynamic", "hops-scheduler"} {
		f := policytest.Zoo(t, name, 60)
		p := served(t, f, policy.Options{})
		f.Fallback = nil
		alone := served(t, f, policy.Options{})
		e, err := p.Example()
		noError(t, err)
		tried := 0
		for _, r := range e.Readings {
			key := r.Key[strings.LastIndexAny(r.Key, ".]")+1:]
			if r.High == nil || strings.Contains(r.Key, "began") && name == "faasconf" || strings.Contains(r.Key, "asked") ||
				key == "rejected" || key == "utilisation" || key == "success" || key == "capacity" {
				continue // bounded by what can be, or the source of several features
			}
			beyond, within := *r.High*1.1+1, *r.High-0.01*(*r.High-r.Value)
			if name != "faasconf" {
				beyond, within = float64(int(beyond)+1), float64(int(within))
			}
			tried++
			d, _, err := p.DecideMeasured(t.Context(), put(t, e.Body, r.Key, beyond), policy.Request{})
			want := fmt.Sprintf("out-of-range: %s is %.6g", r.Key, beyond)
			if r.Of != "" {
				want = fmt.Sprintf("out-of-range: %s of %q is %.6g %s, want ", r.Key, r.Of, beyond, r.Unit)
			}
			if err != nil || d.By != policy.ByFallback || !strings.HasPrefix(fmt.Sprint(d), want) ||
				!strings.Contains(fmt.Sprint(d), fmt.Sprintf(" to %.6g", *r.High)) && !strings.Contains(fmt.Sprint(d), "most") {
				t.Errorf("%s: %v, %v\nwant %s … to %g", name, d, err, want, *r.High)
			}
			if _, _, err := alone.DecideMeasured(t.Context(), put(t, e.Body, r.Key, beyond), policy.Request{}); !errors.Is(err,
				policy.ErrGuarded) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s without a fallback: %v\nwant %s", name, err, want)
			}
			d, _, err = p.DecideMeasured(t.Context(), put(t, e.Body, r.Key, within), policy.Request{})
			if err != nil || d.By != policy.ByPolicy {
				t.Errorf("%s: %s is %g, below %g: %v, %v", name, r.Key, within, *r.High, d, err)
			}
		}
		if tried < 10 {
			t.Errorf("%s: %d readings were tried of %+v", name, tried, e.Readings)
		}
	}
}
