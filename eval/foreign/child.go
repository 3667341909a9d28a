package foreign

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoker-rl/stoker/envs"
)

// child is a process that answers lines. It is the command's, without a shell.
type child struct {
	lines
	cmd    *exec.Cmd
	stdin  io.Closer
	stdout *os.File
	errs   tail
	ended  chan struct{} // closed when it has ended, after how is written
	how    error
}

// grace is how long a process may take to end after its input has.
const grace = 2 * time.Second

// openCommand starts a command as its user typed it.
func openCommand(ctx, start context.Context, line string, spec *envs.Spec) (transport, error) {
	words, err := split(line)
	if err != nil {
		return nil, err
	}
	if len(words) == 0 {
		return nil, errors.New("there is no command: want cmd:python my_policy.py")
	}
	return launch(ctx, start, words, spec)
}

// launch starts a process, which lives at most as long as ctx, and exchanges hellos.
func launch(ctx, start context.Context, words []string, spec *envs.Spec) (*child, error) {
	c := &child{cmd: exec.CommandContext(ctx, words[0], words[1:]...), ended: make(chan struct{})}
	c.cmd.Stderr, c.cmd.WaitDelay = &c.errs, grace
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe() // not StdoutPipe: what was written before the end is read after it
	if err != nil {
		return nil, err
	}
	c.cmd.Stdout, c.stdin, c.stdout = w, stdin, r
	c.lines = lines{spec: spec, to: stdin, from: bufio.NewReaderSize(r, 64<<10)}
	err = c.cmd.Start()
	_ = w.Close() // the process has its own
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	go func() {
		c.how = c.cmd.Wait()
		close(c.ended)
	}()
	if err := c.greet(start); err != nil {
		err = c.explained(start, err)
		c.kill()
		return nil, err
	}
	return c, nil
}

func (c *child) act(ctx context.Context, turns []Turn) error {
	err := c.lines.act(ctx, turns)
	if err != nil {
		err = c.explained(ctx, err)
		c.kill() // an answer may still come, to a request that nobody waits for
	}
	return err
}

func (c *child) note() string { return "" }

// close lets the process end, and ends it where it does not.
func (c *child) close() error {
	err := c.stdin.Close()
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-c.ended:
	case <-t.C:
	}
	c.kill()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may have ended
	<-c.ended
	_ = c.stdout.Close() // ends who still reads
}

// explained says of a conversation that broke off how the process ended, and what it said last.
func (c *child) explained(ctx context.Context, err error) error {
	broken := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrClosed) || isPipe(err)
	if broken {
		select {
		case <-c.ended:
			err = fmt.Errorf("it ended: %s", c.cmd.ProcessState)
		case <-ctx.Done():
			err = errors.New("it closed its standard output")
		}
	}
	if said := c.errs.last(); said != "" {
		return &died{err, said}
	}
	return err
}

// isPipe reports whether writing failed because nobody reads any more.
func isPipe(err error) bool {
	var p *os.PathError
	return errors.As(err, &p) && p.Op == "write"
}

// died is an error with a process's last lines.
type died struct {
	error
	said string
}

func (d *died) Error() string {
	return d.error.Error() + "; its last lines on standard error: " + d.said
}
func (d *died) Unwrap() error { return d.error }

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// mostTail is how many bytes of standard error are kept, and tailLines how many lines are shown.
const (
	mostTail  = 4096
	tailLines = 5
)

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-mostTail):]
	return len(p), nil
}

func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(t.text), "")), "\n")
	return strings.Join(all[max(0, len(all)-tailLines):], " | ")
}

// split splits a line into words as a shell does: single and double quotes, and backslashes.
func split(line string) (words []string, err error) {
	var word strings.Builder
	quote, in, escaped := rune(0), false, false
	for _, r := range line {
		switch {
		case escaped:
			if quote == '"' && r != '"' && r != '\\' {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, in = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, in = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if in {
				words = append(words, word.String())
			}
			word.Reset()
			in = false
		default:
			word.WriteRune(r)
			in = true
		}
	}
	if quote != 0 || escaped {
		return nil, fmt.Errorf("the command %q ends within quotes or after a backslash", line)
	}
	if in {
		words = append(words, word.String())
	}
	return words, nil
}

// mostModel is the most bytes of an ONNX file.
const mostModel = 64 << 20

// install is what gives a Python what ONNX files need, in the folder of Stoker's source.
const install = "-m pip install './python[onnx]'"

// openModel lets a Python run an ONNX file in onnxruntime, which answers lines as a command does.
func openModel(ctx, start context.Context, file string, spec *envs.Spec, o Options) (transport, error) {
	if err := checkModel(file); err != nil {
		return nil, err
	}
	words := []string{o.Python, "-m", "stoker_rl.onnx", file}
	if o.Bind != "" {
		words = append(words, "--bind", o.Bind)
	}
	c, err := launch(ctx, start, words, spec)
	var d *died
	switch {
	case err == nil:
		return c, nil
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%w: ONNX files need Python 3.10 or newer: install it, or name one with --python", err)
	case errors.As(err, &d):
		if _, module, ok := strings.Cut(d.said, "No module named "); ok {
			module = strings.Trim(strings.Fields(module)[0], `'"):`)
			return nil, fmt.Errorf("%s has no module %s: type, in the folder of Stoker's source\n  %s %s", o.Python, module, o.Python, install)
		}
	}
	return nil, err
}

// checkModel refuses what is too large, and tensors that lie in other files: their paths may point anywhere.
func checkModel(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > mostModel {
		return fmt.Errorf("it has %d bytes, want a file of at most %d", info.Size(), mostModel)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return checkMessage(b, "model", 0)
}

// parts are the messages within those of ONNX that can hold tensors, by the number of the field.
var parts = map[string]map[protowire.Number]string{
	"model":     {7: "graph", 20: "training", 25: "function"},
	"graph":     {1: "node", 5: "tensor", 15: "sparse"},
	"node":      {5: "attribute"},
	"function":  {7: "node", 11: "attribute"},
	"training":  {1: "graph", 2: "graph"},
	"attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
	"sparse":    {1: "tensor", 2: "tensor"},
}

// mostDepth bounds graphs within graphs.
const mostDepth = 64

func checkMessage(b []byte, kind string, depth int) error {
	if depth > mostDepth {
		return errors.New("it is no ONNX model: its graphs lie too deep in each other")
	}
	const external, location = 13, 14 // of a tensor
	for len(b) > 0 {
		field, form, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("it is no ONNX model: %w", protowire.ParseError(n))
		}
		value := b[n:]
		m := protowire.ConsumeFieldValue(field, form, value)
		if m < 0 {
			return fmt.Errorf("it is no ONNX model: %w", protowire.ParseError(m))
		}
		b = value[m:]
		if kind == "tensor" && (field == external || field == location && value[0] != 0) {
			return errors.New("it has tensors in other files: save it with all data inside (onnx.save without " +
				"save_as_external_data)")
		}
		if part, ok := parts[kind][field]; ok && form == protowire.BytesType {
			inside, _ := protowire.ConsumeBytes(value)
			if err := checkMessage(inside, part, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
