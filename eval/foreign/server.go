package foreign

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/policy/onnx"
	"github.com/stoker-rl/stoker/serving/client"
)

// asker is what a server's client can do.
type asker interface {
	Infer(ctx context.Context, r *client.Request) (*client.Answer, error)
	Close() error
}

// server is a policy behind a server. Its actions are what the server decides: of Stoker's own with its guard, and with
// its fallback where that acts.
type server struct {
	asker
	spec    *envs.Spec
	inputs  []string // that the server takes
	outputs []string // by kind
	// sequence begins the names of the episodes' sequences; empty where the server is asked for all episodes at once.
	sequence string
	single   bool // one episode a request: graphs have no fixed size
	last     map[int]*envs.Observation

	mu                   sync.Mutex // of the counts
	decisions, fallbacks int
}

// mostAtOnce is how many requests are under way at once.
const mostAtOnce = 16

func openServer(ctx context.Context, address string, spec *envs.Spec) (transport, error) {
	c, err := client.Open(address)
	if err != nil {
		return nil, err
	}
	s := &server{asker: c, spec: spec, last: map[int]*envs.Observation{}}
	m, err := c.Model(ctx)
	if err == nil {
		err = s.fit(&m)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	if m.Platform == client.Bundles {
		s.sequence = "stoker eval " + rand.Text()[:8] + " "
	}
	return s, nil
}

// fit checks names and shapes against the spec.
func (s *server) fit(m *client.Model) error {
	find := func(list []client.Tensor, name string) (client.Tensor, bool) {
		i := slices.IndexFunc(list, func(t client.Tensor) bool { return t.Name == name })
		if i < 0 {
			return client.Tensor{}, false
		}
		return list[i], true
	}
	ours, err := client.Inputs(s.spec)
	if err != nil {
		return err
	}
	for _, in := range m.Inputs {
		if _, ok := find(ours, in.Name); !ok {
			return fmt.Errorf("its input %q, %v, is not among what %s shows: %v", in.Name, in, s.spec.ID, names(ours))
		}
	}
	for _, want := range ours {
		got, ok := find(m.Inputs, want.Name)
		switch {
		case ok && (got.Type != want.Type || !got.Fits(want)):
			return fmt.Errorf("its input %q is %v, in %s it is %v", want.Name, got, s.spec.ID, want)
		case ok:
			s.inputs = append(s.inputs, want.Name)
		case !want.Optional:
			return fmt.Errorf("it has no input %q, %v, of %s; it has %v", want.Name, want, s.spec.ID, names(m.Inputs))
		}
	}
	for i := range s.spec.Kinds {
		k := &s.spec.Kinds[i]
		prefix, wide := "", int64(k.Action.Width())
		if len(s.spec.Kinds) > 1 {
			prefix = k.Name + "."
		}
		want := client.Tensor{Type: "FP32", Shape: []int64{-1, int64(k.Agents), wide}}
		if _, ok := k.Observation.(envs.Graph); ok {
			s.single, want.Shape = true, []int64{wide}
		}
		name := prefix + "action"
		if _, box := k.Action.(envs.Box); box { // as the environment takes it, where actions are in the platform's units
			if _, ok := find(m.Outputs, prefix+"scores"); ok {
				name = prefix + "scores"
			}
		}
		got, ok := find(m.Outputs, name)
		if !ok {
			return fmt.Errorf("it has no output %q; it has %v", name, names(m.Outputs))
		}
		if !got.Fits(want) {
			return fmt.Errorf("its output %q is %v, in %s it is %v", name, got, s.spec.ID, want)
		}
		s.outputs = append(s.outputs, name)
	}
	return nil
}

func names(list []client.Tensor) string {
	return strings.Join(lists.From(list, func(t client.Tensor) string { return t.Name }), ", ")
}

// act asks for all turns in one request where it can.
func (s *server) act(ctx context.Context, turns []Turn) error {
	if s.sequence == "" && !s.single {
		return s.ask(ctx, turns, client.Request{})
	}
	var wait sync.WaitGroup
	room := make(chan struct{}, mostAtOnce)
	errs := make([]error, len(turns))
	for i, t := range turns {
		r := client.Request{Start: t.Step == 0}
		if s.sequence != "" {
			r.Sequence = fmt.Sprint(s.sequence, t.Slot)
			s.last[t.Slot] = t.Seen
		}
		room <- struct{}{}
		wait.Go(func() {
			errs[i] = s.ask(ctx, turns[i:i+1], r)
			<-room
		})
	}
	wait.Wait()
	for i, err := range errs {
		if err != nil {
			return &Failure{i, err}
		}
	}
	return nil
}

// ask makes one request.
func (s *server) ask(ctx context.Context, turns []Turn, r client.Request) error {
	all, err := onnx.Inputs(s.spec, lists.From(turns, func(t Turn) *envs.Observation { return t.Seen })...)
	if err != nil {
		return err
	}
	r.Inputs = slices.DeleteFunc(all, func(t onnx.Tensor) bool { return !slices.Contains(s.inputs, t.Name) })
	r.Outputs = s.outputs
	a, err := s.Infer(ctx, &r)
	if err != nil {
		return err
	}
	for k, name := range s.outputs {
		i := slices.IndexFunc(a.Outputs, func(o client.Output) bool { return o.Name == name })
		if i < 0 {
			return fmt.Errorf("its answer has no output %q", name)
		}
		n := len(turns[0].Act.Kinds[k])
		if o := a.Outputs[i]; len(o.Data) != len(turns)*n {
			return fmt.Errorf("its output %q has the shape %v, want %d numbers for each of %d episodes", name, o.Shape, n,
				len(turns))
		}
		for j, t := range turns {
			copy(t.Act.Kinds[k], a.Outputs[i].Data[j*n:(j+1)*n])
		}
	}
	s.count(a, len(turns))
	return nil
}

// count counts who decided, as Stoker's server tells it.
func (s *server) count(a *client.Answer, rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decisions += rows
	if n, ok := a.Params["fallbacks"].(float64); ok {
		s.fallbacks += int(n)
	} else if a.Params["decided_by"] == "fallback" {
		s.fallbacks += rows
	}
}

func (s *server) note() string {
	if s.fallbacks == 0 {
		return ""
	}
	return fmt.Sprintf("its server's fallback gave %d of %d decisions", s.fallbacks, s.decisions)
}

// close ends the sequences, by a last decision each that nobody reads: the server keeps a limited number of them.
func (s *server) close() error {
	for slot, seen := range s.last {
		all, err := onnx.Inputs(s.spec, seen)
		if err != nil {
			continue
		}
		ctx, cancel := within(context.Background(), grace)
		_, err = s.Infer(ctx, &client.Request{Inputs: all, Outputs: s.outputs, Sequence: fmt.Sprint(s.sequence, slot),
			Start: true, End: true})
		cancel()
		if err != nil {
			break // the server may be gone
		}
	}
	return s.Close()
}
