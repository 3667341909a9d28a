package simppo

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
)

// functions are the functions of a workflow, in the order of the weights.
type functions struct {
	names []string
	held  []bool // whose weights stay as they are
}

// of returns the functions of a kind. Agents without names are named by their numbers.
func of(k *envs.Kind) functions {
	f := functions{names: k.Names, held: make([]bool, k.Agents)}
	if f.names == nil {
		for i := range k.Agents {
			f.names = append(f.names, strconv.Itoa(i))
		}
	}
	return f
}

// from returns for each function of f its number in names, −1 where it is new.
func (f *functions) from(names []string) []int {
	out := make([]int, len(f.names))
	for i, name := range f.names {
		out[i] = slices.Index(names, name)
	}
	return out
}

// State implements [state.Stater].
func (f *functions) State(c *state.Codec) {
	text, err := json.Marshal(f.names)
	c.Fail(err)
	state.Slice(c, &text)
	held := f.held
	state.Slice(c, &held)
	if !c.Loaded() {
		return
	}
	var names []string
	if err := json.Unmarshal(text, &names); err != nil || len(held) != len(names) {
		c.Fail(fmt.Errorf("functions %q, of which %d are held or not: %w", text, len(held), err))
		return
	}
	if f.names == nil { // another run's are read
		f.names, f.held = names, held
		return
	}
	if !slices.Equal(names, f.names) {
		c.Fail(fmt.Errorf("weights of %v, want those of %v", names, f.names))
		return
	}
	copy(f.held, held)
}
