package farm

import (
	"context"
	"errors"
	"io"
	"time"
)

// Task is a unit on its way to a worker.
type Task struct {
	Unit Unit `json:"unit"`
	// Kept are the files of an earlier attempt, from which the worker goes on.
	Kept []File `json:"kept,omitempty"`
}

// Lease is a task that a worker has until it says otherwise, or is silent for [LeaseTime].
type Lease struct {
	Task
	Key Key

	handle any // of the farm's form
}

// NewLease is for the forms of farms: handle is what they know the lease by.
func NewLease(t Task, handle any) *Lease { return &Lease{Task: t, Key: t.Unit.Key(), handle: handle} }

// Handle is what SetHandle or NewLease was given.
func (l *Lease) Handle() any { return l.handle }

// SetHandle sets what the farm's form knows the lease by.
func (l *Lease) SetHandle(handle any) { l.handle = handle }

const (
	// LeaseTime is how long a worker may be silent.
	LeaseTime = 30 * time.Second
	// MaxVanished is the number of workers that vanish while they work on a unit, until it is put aside.
	MaxVanished = 3
)

// Farm carries units to workers and results back. Its methods are for any goroutine.
type Farm interface {
	// Submit queues units; where it fails, some may be queued. One that has had a result is carried out anew.
	Submit(ctx context.Context, tasks ...Task) error
	// Result waits for the next result. Each unit has one, however often it was carried out; a second one that differs is
	// a [*Conflict].
	Result(ctx context.Context) (Result, error)

	// Lease waits for a unit for the worker of that name. The error is [ErrEnded] where there will be no more.
	Lease(ctx context.Context, worker string) (*Lease, error)
	// Extend says that the worker still works on it.
	Extend(l *Lease) error
	// Return hands a unit back, for the next worker to go on with from the files that were kept.
	Return(ctx context.Context, l *Lease, kept []File) error
	// Done gives the unit's result, whose files were put before.
	Done(ctx context.Context, l *Lease, r Result) error

	// Put stores a file of a unit, Get reads it, and Drop forgets files, as PutFiles stored them. Get's error is [ErrGone] where the
	// file is not there.
	Put(ctx context.Context, k Key, f File, r io.Reader) error
	Get(ctx context.Context, k Key, f File) (io.ReadCloser, error)
	Drop(ctx context.Context, k Key, list []File) error

	// Tell says what a worker, or the coordinator, does; Told is what each said last.
	Tell(ctx context.Context, s Standing) error
	Told(ctx context.Context) ([]Standing, error)

	// Close ends the study where its coordinator calls it: workers then get ErrEnded once nothing is queued.
	Close() error
}

// ErrGone says that a file is not there: a worker sent it to a coordinator that is no more. The unit is to be submitted again.
var ErrGone = errors.New("the file is not there")

// ErrEnded says that the study is over.
var ErrEnded = errors.New("the study has ended")

// Standing is what a worker does.
type Standing struct {
	Worker string `json:"worker"`
	Slots  int    `json:"slots"`
	Done   int    `json:"done"` // units since it began
	// Rate is in environment steps a second, over all of the units under way.
	Rate  float64   `json:"steps_per_second"`
	Units []Working `json:"units,omitempty"`
	// Queued are the units of the study that have no result; the coordinator tells it, and its worker name is empty.
	Queued int `json:"queued,omitempty"`
}

// Working is a unit under way.
type Working struct {
	Key   Key    `json:"key"`
	Name  string `json:"name"`
	Steps int64  `json:"steps"`
}
