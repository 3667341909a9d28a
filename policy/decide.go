package policy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stoker-rl/stoker/envs"
)

// By says who decided.
type By string

// Deciders.
const (
	ByPolicy   By = "policy"
	ByFallback By = "fallback"
)

// rounding is how far two numbers of equal actions may be apart.
const rounding = 1e-3

// ErrInput marks errors of the caller: an observation or action of another shape, an active agent without a legal
// choice, an edge between nodes that are not there, features and a legality table that contradict each other.
var ErrInput = errors.New("wrong input")

// ErrBusy marks errors for want of room, such as of sequences: the same call may succeed later.
var ErrBusy = errors.New("busy")

// ErrGuarded marks errors of a policy that must not decide and has no fallback.
var ErrGuarded = errors.New("there is no fallback")

// Decision says who decided and why.
type Decision struct {
	By By
	// Reason is why the policy did not decide or, in shadow mode, would not have decided. Empty where it did.
	Reason Reason
	// Where is the feature or component that gave the reason; zero where there is none.
	Where Where
}

// Request is all that [Policy.Decide] can be told.
type Request struct {
	// Seen is what is observed, Out where the action is written. Both belong to the caller, who must not use them during
	// the call.
	Seen *envs.Observation
	Out  *envs.Action
	// At is when Seen was measured; the zero time stands for now.
	At time.Time
	// Sequence tells apart those whose decisions follow each other, such as workflows, where the policy or its fallback
	// has a state. All without a name are one sequence. Begin forgets what came before this decision, End ends the
	// sequence with it.
	Sequence   string
	Begin, End bool
	// From is who asks, such as a client's address: where there is no room for another sequence, the oldest idle one of
	// who has most gives way to one of who has fewer.
	From string
	// Shadow receives, in shadow mode, what the policy would do, zeros where it would not decide; nil where nobody asks.
	Shadow *envs.Action
}

// Decide writes to out what is done by those who see seen. It does not allocate. Buffers of another shape are errors
// that are [ErrInput]; ctx ends the wait for a free worker.
func (p *Policy) Decide(ctx context.Context, seen *envs.Observation, out *envs.Action) (Decision, error) {
	return p.DecideFor(ctx, Request{Seen: seen, Out: out})
}

// DecideFor is Decide with all that can be told.
func (p *Policy) DecideFor(ctx context.Context, r Request) (Decision, error) {
	if err := p.check(&r); err != nil {
		p.counts.refused.Add(1)
		return Decision{}, err
	}
	var s *sequence
	if p.Stateful() {
		var err error
		if s, err = p.sequence(&r); err != nil {
			return Decision{}, err
		}
		s.mu.Lock()
		defer p.leave(s, &r)
		if s.err != nil {
			return Decision{}, fmt.Errorf("policy: %w", s.err)
		}
	}
	w, err := p.take(ctx)
	if err != nil {
		return Decision{}, err
	}
	defer p.put(w) // also where a policy of a program's own panics
	if err := p.checkLegal(w, r.Seen); err != nil {
		p.counts.refused.Add(1)
		return Decision{}, fmt.Errorf("policy: %w: observation: %w", ErrInput, err)
	}
	return p.decide(w, s, &r)
}

// put gives a worker back.
func (p *Policy) put(w *worker) { p.free <- w }

// take waits for a free worker.
func (p *Policy) take(ctx context.Context) (*worker, error) {
	var w *worker
	select {
	case w = <-p.free:
	default:
		select {
		case w = <-p.free:
		case <-ctx.Done():
			return nil, fmt.Errorf("policy: waiting for one of %d workers: %w", cap(p.free), ctx.Err())
		}
	}
	if w != nil {
		return w, nil
	}
	w, err := p.newWorker()
	if err != nil {
		p.free <- nil
		return nil, fmt.Errorf("policy: %w", err)
	}
	return w, nil
}

// decide decides on a worker, within a sequence where there is one.
func (p *Policy) decide(w *worker, s *sequence, r *Request) (Decision, error) {
	learned, rule := w.policy, w.rule
	if p.agent.State {
		learned = s.policy
	}
	if p.rule != nil && p.rule.State {
		rule = s.rule
	}
	d := p.look(r)
	out := r.Out
	if p.opts.Shadow {
		if out = r.Shadow; out == nil {
			out = &w.other
		}
	}
	seen := r.Seen
	if d.Reason == OutOfRange || d.Reason == NotFinite {
		seen = &w.seen
		p.guard.tame(r.Seen, seen)
	}
	var failed error
	if d.Reason == "" {
		d, failed = p.act(learned, w, r.Seen, out)
	} else if p.agent.State {
		// A policy with a state sees every observation, so that it is up to date when it decides again. What it does now is not
		// used, nor is an error.
		_ = learned.Act(seen, &w.other, true)
	}
	p.counts.add(d.Reason)
	if d.Reason != "" && r.Shadow != nil {
		for k := range r.Shadow.Kinds {
			clear(r.Shadow.Kinds[k])
		}
	}
	if rule == nil {
		if d.Reason != "" {
			p.counts.failed.Add(1)
			return d, guarded(d, failed)
		}
		return d, nil
	}
	acts := d.Reason != "" || p.opts.Shadow
	if !acts && !p.rule.State {
		return d, nil
	}
	// A rule with a state sees every observation, so that it is up to date when it has to act.
	to := r.Out
	if !acts {
		to = &w.other
	}
	err := rule.Act(seen, to, true)
	if !acts {
		return d, nil // an error here is not one of the decision
	}
	if err == nil {
		if where, ok := p.legal(w, seen, to); !ok {
			err = fmt.Errorf("%v", Decision{Reason: Illegal, Where: where})
		}
	}
	if err != nil {
		p.counts.failed.Add(1)
		return d, fmt.Errorf("policy: fallback %s: %w", p.rule.Name, err)
	}
	d.By = ByFallback
	if p.opts.Shadow {
		p.counts.shadow(d.Reason == "" && equal(out, to))
	}
	return d, nil
}

// guarded is the error of a decision that nobody makes; failed is why the policy did not.
func guarded(d Decision, failed error) error {
	if failed != nil {
		return fmt.Errorf("policy: %w, and %w in the bundle", failed, ErrGuarded)
	}
	return fmt.Errorf("policy: it must not decide (%v), and %w in the bundle", d, ErrGuarded)
}

// act lets the learned policy act, and checks what it does.
func (p *Policy) act(learned envs.Policy, w *worker, seen *envs.Observation, out *envs.Action) (Decision, error) {
	if err := learned.Act(seen, out, true); err != nil {
		return Decision{Reason: Failed}, err
	}
	if where, ok := p.legal(w, seen, out); !ok {
		return Decision{Reason: Illegal, Where: where}, nil
	}
	if w.fits != nil {
		if err := w.fits(out); err != nil {
			return Decision{Reason: BeyondMachines}, err
		}
	}
	return Decision{By: ByPolicy}, nil
}

// equal says whether two actions are the same but for rounding.
func equal(a, b *envs.Action) bool {
	for k := range a.Kinds {
		for i, x := range a.Kinds[k] {
			if y := b.Kinds[k][i]; !(x-y <= rounding && y-x <= rounding) {
				return false
			}
		}
	}
	return true
}

// sequence is the state of decisions that follow each other.
type sequence struct {
	mu           sync.Mutex
	policy, rule envs.Policy // nil where it has no state
	err          error       // why they could not be made
	used         time.Time   // guarded by the policy's lock
	inside       int         // calls that hold it or wait for it
	from         string      // who began it
}

const (
	mostSequences = 1024
	idleTime      = time.Hour
)

// sequence finds or makes the sequence of a request.
func (p *Policy) sequence(r *Request) (*sequence, error) {
	p.mu.Lock()
	if r.Begin {
		delete(p.sequences, r.Sequence)
	}
	if s := p.sequences[r.Sequence]; s != nil && !p.over(s, time.Now()) {
		s.inside++
		p.mu.Unlock()
		return s, nil
	}
	most := p.opts.Sequences
	if most == 0 {
		most = mostSequences
	}
	if len(p.sequences) >= most {
		p.expire(time.Now())
	}
	if len(p.sequences) >= most && !p.giveWay(r.From) {
		p.mu.Unlock()
		return nil, fmt.Errorf("policy: sequence %q: %w: %d sequences are in use, the most there can be; end those that are "+
			"over, or open the policy with more", r.Sequence, ErrBusy, most)
	}
	s := &sequence{inside: 1, used: time.Now(), from: r.From}
	s.mu.Lock() // others wait until it is made
	p.sequences[r.Sequence] = s
	p.mu.Unlock()
	if p.agent.State {
		s.policy, s.err = p.newLearned()
	}
	if s.err == nil && p.rule != nil && p.rule.State {
		s.rule, s.err = p.newRule()
	}
	s.mu.Unlock()
	return s, nil
}

// leave ends a decision within a sequence.
func (p *Policy) leave(s *sequence, r *Request) {
	s.mu.Unlock()
	p.mu.Lock()
	s.inside--
	s.used = time.Now()
	if (r.End || s.err != nil) && p.sequences[r.Sequence] == s {
		delete(p.sequences, r.Sequence)
	}
	p.mu.Unlock()
}

// expire removes sequences that no one has used for a while.
func (p *Policy) expire(now time.Time) {
	for id, s := range p.sequences {
		if p.over(s, now) {
			delete(p.sequences, id)
		}
	}
}

// over reports whether no one has used a sequence for longer than it is kept.
func (p *Policy) over(s *sequence, now time.Time) bool {
	idle := p.opts.Idle
	if idle == 0 {
		idle = idleTime
	}
	return s.inside == 0 && now.Sub(s.used) > idle
}

// giveWay removes the oldest idle sequence of who has most, where these are at least two more than the asker's.
func (p *Policy) giveWay(asker string) bool {
	count, most := map[string]int{}, asker
	for _, s := range p.sequences {
		count[s.from]++
	}
	for from, n := range count {
		if n > count[most] || n == count[most] && from < most {
			most = from
		}
	}
	if count[most] < count[asker]+2 {
		return false
	}
	var oldest *sequence
	var name string
	for id, s := range p.sequences {
		if s.from == most && s.inside == 0 && (oldest == nil || s.used.Before(oldest.used)) {
			oldest, name = s, id
		}
	}
	if oldest != nil {
		delete(p.sequences, name)
	}
	return oldest != nil
}

// Sequences is how many sequences are kept.
func (p *Policy) Sequences() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expire(time.Now())
	return len(p.sequences)
}
