package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// stopped is the cause of a context that a signal ended.
type stopped struct{ signal os.Signal }

func (s stopped) Error() string { return s.signal.String() }

// patience is how long stopping may take before it is announced.
const patience = time.Second

// onSignal returns a context that ends at the first SIGINT or SIGTERM. If stopping takes a while, now names the work
// that is left, and from then on another signal ends the process at once. An earlier second signal is an echo of the
// first, because timeout(1) and terminals signal a process and its whole group. release gives signals back to Go, which
// ends the process at the first.
func onSignal(ctx context.Context, out io.Writer, now string) (stoppable context.Context, release func()) {
	stoppable, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	done := make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			cancel(stopped{s})
		case <-done:
			return
		}
		slow, told := time.After(patience), false
		for {
			select {
			case <-done:
				return
			case <-signals:
				if !told {
					continue
				}
				fmt.Fprintf(out, "\n\nended at once\n")
				os.Exit(exitFailed) // whatever was under way: checkpoints are whole or not there
			case <-slow:
				told = true
				fmt.Fprintf(out, "\n\n%s; Ctrl-C once more ends it at once\n", now)
			}
		}
	}()
	return stoppable, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}
