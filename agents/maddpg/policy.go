package maddpg

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

// TrainedPolicy is a learned policy: actors with frozen weights and a frozen view of observations. Continuous actions never
// vary; choices are drawn from the softmax of the logits unless deterministic ones are asked for. Its changing state is
// the stream of those draws.
type TrainedPolicy struct {
	file         *agents.PolicyFile
	name         string
	hash         [sha256.Size]byte
	prob         problem
	acting       *acting
	shift, scale []float32 // [agents, obs], nil where observations are not standardised
	clip         float32
	hot          []float32
	stream       rng.Stream
}

var _ agents.Policy = (*TrainedPolicy)(nil)

// Name implements [envs.Policy]: attmf, mf, maddpg, ddpg or iddpg.
func (p *TrainedPolicy) Name() string { return p.name }

// Export implements [agents.Policy]. The file belongs to the policy and must not be modified.
func (p *TrainedPolicy) Export() (*agents.PolicyFile, error) { return p.file, nil }

// Reset implements [envs.Policy].
func (p *TrainedPolicy) Reset(seed uint64) error {
	p.stream = *rng.NewStream(seed, "maddpg: policy")
	return nil
}

// Act implements [envs.Policy].
func (p *TrainedPolicy) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	o, a := &obs.Kinds[0], act.Kinds[0]
	x := p.acting.x
	copy(x, o.Values)
	if p.shift != nil {
		for i := range x {
			x[i] = min(max(float32((x[i]-p.shift[i])*p.scale[i]), -p.clip), p.clip)
		}
	}
	if p.prob.agents == len(o.Active) {
		p.acting.hide(o.Active)
	}
	p.acting.run()
	w, k := p.prob.codec.width(), p.prob.codec.components()
	for j := range p.prob.kind.Agents {
		y, out := p.acting.out[j*w:(j+1)*w], a[j*k:(j+1)*k]
		if !o.Active[j] {
			clear(out)
			continue
		}
		for _, v := range y {
			if !finite(v) {
				return fmt.Errorf("maddpg: policy: actor of %s %d gives %g", p.prob.kind.Name, j, v)
			}
		}
		if !p.prob.discrete() {
			p.prob.stretch(y, out)
			continue
		}
		if !deterministic {
			for m := range y {
				y[m] += gumbel(&p.stream)
			}
		}
		forbid(y, o.Mask[j*w:(j+1)*w])
		p.prob.choose(y, p.hot, out)
	}
	return nil
}

// CopyFrom implements [envs.Policy]: src must be opened from the same file.
func (p *TrainedPolicy) CopyFrom(src envs.Policy) error {
	s, ok := src.(*TrainedPolicy)
	if !ok || s.hash != p.hash {
		return fmt.Errorf("maddpg: policy %s can't be made equal to %s: they have other weights", p.name, src.Name())
	}
	p.stream = s.stream
	return nil
}

// AppendBinary implements [envs.Policy]: the stream, and which weights it belongs to.
func (p *TrainedPolicy) AppendBinary(b []byte) ([]byte, error) {
	return p.stream.AppendBinary(append(b, p.hash[:]...))
}

// UnmarshalBinary implements [envs.Policy].
func (p *TrainedPolicy) UnmarshalBinary(b []byte) error {
	if len(b) < len(p.hash) || [sha256.Size]byte(b[:len(p.hash)]) != p.hash {
		return errors.New("maddpg: policy: the state belongs to other weights")
	}
	return p.stream.UnmarshalBinary(b[len(p.hash):])
}

// fingerprint hashes a file's content.
func fingerprint(f *agents.PolicyFile) (sum [sha256.Size]byte) {
	h := sha256.New()
	// A hash's Write never fails.
	write := func(b []byte) { _, _ = h.Write(b) }
	write([]byte(f.Agent + "\x00" + f.EnvID + "\x00"))
	write(f.Description)
	for _, name := range slices.Sorted(maps.Keys(f.Arrays)) {
		write([]byte("\x00" + name + "\x00"))
		b := make([]byte, 0, 4*len(f.Arrays[name].Data))
		for _, x := range f.Arrays[name].Data {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		write(b)
	}
	h.Sum(sum[:0])
	return sum
}
