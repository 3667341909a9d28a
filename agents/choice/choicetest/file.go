package choicetest

import (
	"encoding/binary"
	"maps"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/agents"
)

// Forge returns a policy's file as somebody else may have written it: with another description, and one array of length
// numbers, at most most, that begins with values.
func Forge(whole *agents.PolicyFile, description []byte, array string, length, most int,
	values []byte) *agents.PolicyFile {
	f := &agents.PolicyFile{Agent: whole.Agent, EnvID: whole.EnvID, Description: description,
		Arrays: maps.Clone(whole.Arrays)}
	a := agents.Array{Shape: []int{1, length}, Data: make([]float32, min(max(length, 0), most))}
	copy(a.Data, whole.Arrays[array].Data)
	overwrite(a.Data, values)
	f.Arrays[array] = a
	return f
}

// overwrite puts the float32 in values in place of the first of x.
func overwrite(x []float32, values []byte) {
	for i := 0; i < len(x) && len(values) >= 4; i, values = i+1, values[4:] {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(values))
	}
}

// Restores holds that a policy takes its own state.
func Restores(t testing.TB, p agents.Policy) {
	t.Helper()
	b, err := p.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.UnmarshalBinary(b); err != nil {
		t.Fatalf("its own state is refused: %v", err)
	}
}
