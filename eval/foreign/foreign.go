// Package foreign lets policies that were trained elsewhere act in an evaluation: an ONNX file, a server of the Open
// Inference Protocol, or a command that answers lines of JSON. All episodes under way are answered at once, by
// [Policy.Act]. docs/judging.md describes the protocol.
//
//	foreign.go    what a policy is, and which there are; a bundle, which acts in this process and is no [Policy]
//	lines.go      requests and answers as lines of JSON
//	child.go      the process that answers them: a command, or Python for an ONNX file, and what such a file must be
//	              before Python sees it
//	server.go     a server
//
// Not here: episodes and scores (package eval), and the protocol's other side (python/stoker_rl).
package foreign

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/policy/onnx"
)

// Turn is an episode under way in which a policy is to act.
type Turn struct {
	// Slot is the episode's place among those that are under way; a later episode takes the place of one that is over.
	Slot int
	// Step is the number of the episode's steps so far. The workload seed is not told: it would tell the load to come.
	Step int
	// Seen is what is observed, Act where the action is written.
	Seen *envs.Observation
	Act  *envs.Action
}

// Failure is the error of a policy that is out, and the turn at which it failed.
type Failure struct {
	Turn int
	Err  error
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// Form is what a policy is named by.
type Form int

// Forms.
const (
	Unknown Form = iota
	Command      // cmd:COMMAND
	Server       // http://HOST/v2/models/NAME, https likewise, grpc://HOST/NAME, grpcs likewise
	Model        // FILE.onnx
	Bundle       // FILE.stoker
)

// FormOf tells what a policy is named by.
func FormOf(what string) Form {
	scheme, _, address := strings.Cut(what, "://")
	switch {
	case strings.HasPrefix(what, "cmd:"):
		return Command
	case address && slices.Contains([]string{"http", "https", "grpc", "grpcs"}, scheme):
		return Server
	case filepath.Ext(what) == onnx.Extension:
		return Model
	case filepath.Ext(what) == bundle.Extension:
		return Bundle
	}
	return Unknown
}

// Options say how policies are opened.
type Options struct {
	// Timeout is how long an answer may take; the first one may take a minute, if that is longer.
	Timeout time.Duration
	// Python runs ONNX files.
	Python string
	// Bind names inputs and outputs of ONNX files, as in obs=observation,24=action.
	Bind string
}

// transport carries turns to who answers them.
type transport interface {
	// act writes the actions. An error that is a [Failure] names the turn, any other is one of all.
	act(ctx context.Context, turns []Turn) error
	// note says what a reader must know of the answers; empty where nothing.
	note() string
	close() error
}

// Policy is a policy that acts in all episodes under way at once, for one goroutine.
type Policy struct {
	transport
	timeout time.Duration
	whole   [][]bool // by kind and component
}

// firstAnswer is how long a policy may take to start: Python imports for seconds.
const firstAnswer = time.Minute

// Open opens a command, a server or an ONNX file. It is an error where the policy does not fit the spec. A command lives
// at most as long as ctx.
func Open(ctx context.Context, what string, spec *envs.Spec, o Options) (*Policy, error) {
	start, cancel := within(ctx, max(o.Timeout, firstAnswer))
	defer cancel()
	var t transport
	var err error
	switch FormOf(what) {
	case Command:
		t, err = openCommand(ctx, start, strings.TrimPrefix(what, "cmd:"), spec)
	case Model:
		t, err = openModel(ctx, start, what, spec, o)
	case Server:
		t, err = openServer(start, what, spec)
	default:
		err = errors.New("want a bundle (x.stoker), an ONNX file (x.onnx), a server (http://HOST/v2/models/NAME or " +
			"grpc://HOST/NAME) or a command (cmd:python my_policy.py)")
	}
	if err != nil && start.Err() != nil {
		err = context.Cause(start)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return newPolicy(t, spec, o.Timeout), nil
}

func newPolicy(t transport, spec *envs.Spec, timeout time.Duration) *Policy {
	p := &Policy{transport: t, timeout: timeout}
	for i := range spec.Kinds {
		p.whole = append(p.whole, wholes(spec.Kinds[i].Action))
	}
	return p
}

// wholes says which components of a space of numbers are rounded to whole ones, as learned policies' are.
func wholes(s envs.Space) []bool {
	switch s := s.(type) {
	case envs.Box:
		if s.Integer != nil {
			return s.Integer
		}
	case envs.Dict:
		return wholes(s.Tuple)
	case envs.Tuple:
		var out []bool
		for _, part := range s.Spaces {
			out = append(out, wholes(part)...)
		}
		return out
	}
	return make([]bool, s.Width())
}

// within is a context that ends after a time, and says so.
func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("it did not answer within %v", d))
}

// Act writes the actions of all turns, which are of different episodes. An error is a [Failure]: the policy is out and
// only to be closed; or it is the context's cause.
func (p *Policy) Act(ctx context.Context, turns []Turn) error {
	limited, cancel := within(ctx, p.timeout)
	defer cancel()
	if err := p.act(limited, turns); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f := &Failure{0, err}
		errors.As(err, &f)
		// What waits says in words of its own that its time was over.
		if cause := context.Cause(limited); cause != nil && !errors.Is(f.Err, cause) {
			f.Err = cause
		}
		return f
	}
	for _, t := range turns {
		for k, act := range t.Act.Kinds {
			for i := range act {
				if w := p.whole[k]; w[i%len(w)] {
					act[i] = float32(math.Round(float64(act[i])))
				}
			}
		}
	}
	return nil
}

// Note says what a reader must know of the answers, such as that a server's fallback gave some; empty where nothing.
func (p *Policy) Note() string { return p.note() }

// Close ends what answers.
func (p *Policy) Close() error { return p.close() }

// OpenBundle reads a bundle and returns what makes its policy, without guard and fallback: it scores as the checkpoint
// that it was exported from.
func OpenBundle(names *catalog.Catalog, file string) (f *bundle.File, digest string,
	open func(*envs.Spec) (envs.Policy, error), err error) {
	f, digest, err = bundle.Open(file, bundle.Limits{})
	if err != nil {
		return nil, "", nil, err
	}
	l, err := names.Learner(f.Agent.Name)
	if err != nil {
		return nil, "", nil, fmt.Errorf("%s: %w", file, err)
	}
	stored := &agents.PolicyFile{Agent: f.Agent.Name, EnvID: f.Agent.Env, Description: f.Agent.Description,
		Arrays: map[string]agents.Array{}}
	for name, a := range f.Arrays {
		stored.Arrays[name] = agents.Array(a)
	}
	return f, digest, func(spec *envs.Spec) (envs.Policy, error) {
		cpu, err := engines.Open(engines.Native, engines.Options{Device: "cpu"})
		if err != nil {
			return nil, err
		}
		p, err := l.Open(stored, spec, cpu)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err) // not p: an interface around a nil pointer would not be nil
		}
		return p, nil
	}, nil
}
