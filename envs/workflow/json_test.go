package workflow

import (
	"encoding/json"
	"reflect"
	"testing"
)

// A graph is a plain value: written out and read back it compiles to the same workflow.
func TestJSON(t *testing.T) {
	for _, g := range append(FaaSConf(), diamond()) {
		w := compile(t, g)
		b, err := json.Marshal(w.Graph())
		if err != nil {
			t.Fatal(err)
		}
		var back Graph
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back, w.Graph()) {
			t.Errorf("%s came back as %s", g.Name, b)
		}
		if compile(t, back).print != w.print {
			t.Errorf("%s came back as another workflow", g.Name)
		}
	}
}
