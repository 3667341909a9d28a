package frozen

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// NewFile returns a policy as a file that the named agent makes for spec: its description, as JSON, and the parameters
// that lie on engine e as one array.
func NewFile(agent string, spec *envs.Spec, description any, array string, params nets.Tensor,
	e nets.Engine) (*agents.PolicyFile, error) {
	text, err := json.Marshal(description)
	if err != nil {
		return nil, err
	}
	f := &agents.PolicyFile{Agent: agent, EnvID: spec.ID, Description: text, Arrays: map[string]agents.Array{}}
	agents.PutTensor(f.Arrays, array, params)
	if err := e.Err(); err != nil {
		return nil, fmt.Errorf("%s: reading the policy: %w", agent, err)
	}
	return f, nil
}

// Describe reads a file's description into description, a pointer to a struct without room for other keys. The file
// must be one that the named agent made for the environment of spec.
func Describe(f *agents.PolicyFile, agent string, spec *envs.Spec, description any) error {
	if f.Agent != agent {
		return fmt.Errorf("made by agent %q, want %q", f.Agent, agent)
	}
	if f.EnvID != spec.ID {
		return fmt.Errorf("trained for %s, not for %s", f.EnvID, spec.ID)
	}
	dec := json.NewDecoder(bytes.NewReader(f.Description))
	dec.DisallowUnknownFields()
	if err := dec.Decode(description); err != nil {
		return fmt.Errorf("description: %w", err)
	}
	return nil
}

// Fits says whether an array holds as many numbers as an architecture has parameters. It is asked before anything is
// made of that size: a description of a few bytes can ask for gigabytes.
func Fits(f *agents.PolicyFile, array string, arch nets.Arch) error {
	_, size := nets.Layout(arch)
	size *= arch.Groups()
	if got := len(f.Arrays[array].Data); got != size {
		return fmt.Errorf("array %q has %d numbers, its architecture has %d", array, got, size)
	}
	return nil
}

// Sum is the fingerprint of a file's content: agent, environment, description, and the arrays in the order given.
// States of policies carry it.
func Sum(f *agents.PolicyFile, arrays ...string) uint64 {
	h := sha256.New()
	write := func(b []byte) { _, _ = h.Write(b) } // a hash's Write never fails
	write([]byte(f.Agent + "\x00" + f.EnvID + "\x00"))
	write(f.Description)
	for _, name := range arrays {
		write([]byte("\x00" + name + "\x00"))
		data := f.Arrays[name].Data
		b := make([]byte, 0, 4*len(data))
		for _, x := range data {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		write(b)
	}
	return binary.LittleEndian.Uint64(h.Sum(nil))
}
