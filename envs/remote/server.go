// Package remote steps copies of an environment for a program in another language: steps in memory that both see, all else
// over two pipes. Both sides run on one machine: numbers are in its byte order. docs/python.md describes what Python makes of it.
//
//	server.go  frames, and what is asked for
//	block.go   where each array of the memory lies
//	copies.go  the copies, which goroutines step, and what a baseline would do in them
//	step.go    how steps are asked for without frames, and what a step checks and does
//
// A client writes commands, seeds and actions, and counts the word of the steps asked for up. It waits until the server has
// counted the word of the steps done up as far, and writes nothing of the memory until then. Sizes are fixed by [Open].
//
// A frame is a kind (4 bytes), the length of what follows (4 bytes), and that. The server says [Hello] first. Then each
// frame is answered by one of the kind [Answer] or [Failed], whose content is the error's text; [Wake] is not.
//
// Not here: what a configuration is and which environment it names (package cli), and the other side (python/stoker_rl).
package remote

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/stoker-rl/stoker/envs"
)

// Protocol is the version of the frames. Both sides refuse another one.
const Protocol = "environments/2"

// Kinds of frames.
const (
	// Hello is {"protocol": …, "version": …}: the protocol and the program's version.
	Hello uint32 = iota
	// Open has the request of [Server].Open; its answer is an [Opened]. It comes once.
	Open
	// Step is for a client that has waited for a step in vain: it is answered when the step is done, by its error if it has one.
	Step
	// Wake makes a server that sleeps look at the memory.
	Wake
	// Save has a copy's number (4 bytes) and is answered by its state.
	Save
	// Load has a copy's number (4 bytes) and a state of [Save], of an equal configuration.
	Load
	// Mask has a copy's, a kind's and an agent's number (4 bytes each) and the choices of the components so far (float32
	// each). It is answered by the legal choices of the next component, a byte each.
	Mask
	// Decide has 1 where actions are not to be drawn (4 bytes), and the name of an actor, which writes the actions of all copies
	// to the memory.
	Decide
	// Answer and Failed are the server's.
	Answer
	Failed
)

// Commands of a copy in a step.
const (
	// Advance steps the copy by its action.
	Advance uint8 = iota
	// Begin starts the episode of its seed; the action is not read.
	Begin
	// Leave leaves it as it is.
	Leave
)

// Opened answers [Open].
type Opened struct {
	// Spec is the environment's, as [envs.EncodeSpec] writes it.
	Spec   json.RawMessage `json:"spec"`
	Arrays []Array         `json:"arrays"`          // of the memory
	Bytes  int             `json:"bytes"`           // of all of it
	Notes  []string        `json:"notes,omitempty"` // of [Options]
}

// Array is a part of the memory, in C order; the first dimension is that of the copies.
type Array struct {
	Name   string `json:"name"`  // KIND/observation, KIND/mask, reward and so on
	Type   string `json:"dtype"` // NumPy's name of it
	Shape  []int  `json:"shape"`
	Offset int    `json:"offset"`
}

// Options say how copies are stepped.
type Options struct {
	Copies, Workers int
	// Substitute puts the first legal choice in the place of a forbidden one, and counts it; else it is an error.
	Substitute bool
	// Memory returns memory of a size that the client sees too, as [Memory] does; where it is nil no client sees any.
	Memory func(bytes int) ([]byte, error)
	// Actor returns the actor of a name for a copy; nil where there are none.
	Actor func(name string, env envs.Env) (Actor, error)
	Notes []string // what the client is to hear, such as keys of its configuration that have other names now
}

// Server opens environments for a client.
type Server struct {
	// Version is the program's.
	Version string
	// Open reads what a client asks for, and returns what builds an environment, for as many copies as it wants.
	Open func(request []byte) (build func() (envs.Env, error), o Options, err error)
}

// most bounds a frame: a state of a large environment takes some megabytes.
const most = 1 << 28

// Serve answers the frames of r on w until r ends, which is no error. Bad requests are answered with what is wrong with them, and
// change nothing; a broken frame is an error.
func (s *Server) Serve(r io.Reader, w io.Writer) error {
	c := connection{in: bufio.NewReaderSize(r, 1<<16), to: w}
	hello, err := json.Marshal(map[string]string{"protocol": Protocol, "version": s.Version})
	if err != nil {
		return err
	}
	if err := c.send(Hello, append(c.start(), hello...)); err != nil {
		return err
	}
	var all *copies
	for {
		if all != nil && c.in.Buffered() == 0 {
			all.watch()
		}
		kind, body, err := c.receive()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		answer := c.start()
		if all != nil {
			all.bell.received++
			if kind == Wake {
				continue
			}
		}
		switch {
		case kind == Open && all != nil:
			err = errors.New("an environment is open already, want one in a process")
		case kind == Open:
			answer, all, err = s.open(answer, body)
		case all == nil:
			err = errors.New("no environment is open")
		default:
			answer, err = all.answer(answer, kind, body)
		}
		if err == nil {
			err = c.send(Answer, answer)
		} else {
			err = c.send(Failed, append(c.start(), err.Error()...))
		}
		if err != nil {
			return err
		}
	}
}

func (s *Server) open(dst, request []byte) ([]byte, *copies, error) {
	build, o, err := s.Open(request)
	if err != nil {
		return nil, nil, err
	}
	all, err := newCopies(build, o)
	if err != nil {
		return nil, nil, err
	}
	opened := Opened{Arrays: all.block.arrays, Bytes: all.block.bytes, Notes: o.Notes}
	if opened.Spec, err = envs.EncodeSpec(all.spec); err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(opened)
	return append(dst, text...), all, err
}

// connection reads and writes frames.
type connection struct {
	in        *bufio.Reader
	to        io.Writer
	body, out []byte
}

const header = 8

// start is an empty answer, with room for the header.
func (c *connection) start() []byte { return append(c.out[:0], make([]byte, header)...) }

func (c *connection) send(kind uint32, frame []byte) error {
	c.out = frame
	binary.NativeEndian.PutUint32(frame, kind)
	binary.NativeEndian.PutUint32(frame[4:], uint32(len(frame)-header))
	_, err := c.to.Write(frame)
	return err
}

// receive returns the next frame; the body is good until the next call. It is io.EOF between frames alone.
func (c *connection) receive() (uint32, []byte, error) {
	var h [header]byte
	if _, err := io.ReadFull(c.in, h[:]); err != nil {
		return 0, nil, err
	}
	kind, n := binary.NativeEndian.Uint32(h[:]), binary.NativeEndian.Uint32(h[4:])
	if kind > Decide || n > most {
		return 0, nil, fmt.Errorf("a frame of kind %d has %d bytes, want a kind of at most %d and at most %d bytes", kind, n, Decide, most)
	}
	if cap(c.body) < int(n) {
		var err error
		if c.body, err = io.ReadAll(io.LimitReader(c.in, int64(n))); err != nil { // what comes, not what is promised, takes memory
			return 0, nil, err
		}
		if len(c.body) < int(n) {
			return 0, nil, io.ErrUnexpectedEOF
		}
		return kind, c.body, nil
	}
	c.body = c.body[:n]
	if _, err := io.ReadFull(c.in, c.body); err != nil {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return kind, c.body, nil
}
