package nets_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/nets"

	"github.com/stoker-rl/stoker/internal/must"
)

func sprint(x ...any) string { return strings.TrimSuffix(fmt.Sprintln(x...), "\n") }

// Descriptions come back from JSON as they were, with all that follows from them.
func TestEncode(t *testing.T) {
	for name, a := range specimens() {
		b := must.Get(nets.EncodeArch(a))(t)
		got, err := nets.DecodeArch(b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got, a) {
			t.Errorf("%s came back as %+v, want %+v", name, got, a)
		}
	}
	b := must.Get(nets.EncodeArch(specimens()["attention"]))(t)
	const want = `{"kind":"mean-field","arch":{"agents":2,"shared":true,"in":[{"name":"state","width":3},{"name":"action","width":2}],` +
		`"hidden":[4,3],"out":2,"activation":"relu","norm":"layer","final":"sigmoid","final_bound":0.003,"mix":"attention","score":"exp",` +
		`"keys":6,"neighbours":[[1],[0,1]],"others":true}}`
	if string(b) != want {
		t.Errorf("encoded as\n%s\nwant\n%s", b, want)
	}
	if _, err := nets.EncodeArch(nil); err == nil {
		t.Error("no architecture was encoded")
	}
}

// What this version doesn't know is refused.
func TestDecodeRefuses(t *testing.T) {
	good := must.Get(nets.EncodeArch(specimens()["gumbel"]))(t)
	for text, want := range map[string]string{
		``:                           "nothing here",
		`{`:                          "unexpected EOF",
		`[]`:                         "cannot unmarshal",
		`{"kind":"lstm"}`:            `kind "lstm" is not known`,
		`{"arch":{}}`:                `kind "" is not known`,
		`{"kind":"mlp"}`:             "mlp: nothing here",
		`{"kind":"mlp","arch":null}`: "agents is 0",
		`{"kind":"mlp","arch":{"agents":1,"depth":3}}`:                                 `unknown field "depth"`,
		`{"kind":"mlp","arch":{"agents":1.5}}`:                                         "cannot unmarshal",
		`{"kind":"mlp","arch":{"agents":1},"version":2}`:                               `unknown field "version"`,
		`{"kind":"mean-field","arch":{"agents":1,"in":[]}}`:                            "in is empty",
		`{"kind":"gumbel-softmax","arch":{"agents":1}}`:                                "segments is empty",
		string(good) + "{}":                                                            "more follows",
		strings.Replace(string(good), `"agents":2`, `"agents":4611686018427387904`, 1): "agents is 4611686018427387904",
	} {
		if a, err := nets.DecodeArch([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: decoded to %v with error %v, want one with %q", text, a, err, want)
		}
	}
	if b, err := nets.EncodeArch(specimens()["mlp"]); err != nil {
		t.Error(err)
	} else if a, err := nets.DecodeArch(append(b, " \n"...)); err != nil {
		t.Errorf("white space after %v: %v", a, err)
	}
}

func FuzzDecodeArch(f *testing.F) {
	for _, a := range specimens() {
		b := must.Get(nets.EncodeArch(a))(f)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := nets.DecodeArch(b)
		if err != nil {
			return
		}
		// What is accepted is whole: it can be laid out and written again.
		if _, size := nets.Layout(a); size < 0 || size*a.Groups() > 1<<30 {
			t.Errorf("%s has %d groups of %d parameters", b, a.Groups(), size)
		}
		again := must.Get(nets.EncodeArch(a))(t)
		c, err := nets.DecodeArch(again)
		if err != nil {
			t.Fatalf("%s became %s: %v", b, again, err)
		}
		if third, err := nets.EncodeArch(c); err != nil || string(third) != string(again) {
			t.Errorf("%s came back as %s: %v", again, third, err)
		}
	})
}
