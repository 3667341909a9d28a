package policy

import (
	"fmt"
	"sync"
	"time"

	"github.com/stoker-rl/stoker/envs"
)

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
	if s := p.sequences[r.Sequence]; s != nil {
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
	idle := p.opts.Idle
	if idle == 0 {
		idle = idleTime
	}
	for id, s := range p.sequences {
		if s.inside == 0 && now.Sub(s.used) > idle {
			delete(p.sequences, id)
		}
	}
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
