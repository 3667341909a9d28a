package workflow

import (
	"fmt"
	"testing"
)

// What comes next, by function.
func TestNext(t *testing.T) {
	back := New("back", Chain("a", "b", "c", "b again"))
	back.Nodes[3].Function = "b"
	for name, c := range map[string]struct {
		graph Graph
		want  string
	}{
		"sequence": {FaaSConfSequential(), "[[1] [2] [3] [4] []]"},
		"fan-out":  {FaaSConfParallel(), "[[1] [2] [3] [4 5] [] []]"},
		"a loop": {New("x", Chain("a", "b"), Repeat("b", "a", 0.3),
			Choice("b", To("c", 0.5), To(End, 0.2))), "[[1] [2] []]"},
		"calls":          {FaaSConfTcktApp(OneByOne), "[[1 3 6 8 10 11] [4 5 7 9] [] [] [3] [] [] [6] [] [] [] [2 3 6 10]]"},
		"there and back": {back, "[[1] [2] []]"},
		"alternatives":   {FaaSConfBranch(), "[[1 2] [3] [6] [4] [5] [] []]"},
	} {
		w, err := c.graph.Compile()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := fmt.Sprint(w.Next()); got != c.want {
			t.Errorf("%s: %v of %v, want %s", name, got, w.Functions(), c.want)
		}
	}
}
