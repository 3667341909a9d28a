package train

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
)

// slowly is the time after which ReportLoad says what it is doing.
const slowly = time.Second

// ReportLoad is [envs.ReportLoad], which says on out what takes so long where it has to search.
func ReportLoad(env envs.Env, trained []envs.TrainedLoad, out io.Writer) (*envs.LoadReport, error) {
	done := make(chan struct{})
	said := make(chan struct{})
	go func() {
		defer close(said)
		select {
		case <-done:
		case <-time.After(slowly):
			fmt.Fprintln(out, "searching for the largest load that the action ranges serve; the result is kept in the cache folder")
		}
	}()
	r, err := envs.ReportLoad(env, trained)
	close(done)
	<-said
	return r, err
}

// TrainedLoad returns the load that a checkpoint's policy was trained on: as its manifest has it, or, for checkpoints of
// earlier versions, as its configuration makes it. It returns nil where neither says it: the environment has no load,
// or the trace is not there.
func TrainedLoad(c *checkpoints.Checkpoint, x *configs.Experiment) *envs.Load {
	if raw := c.Header().Load; len(raw) > 0 {
		var l envs.Load
		if json.Unmarshal(raw, &l) == nil {
			return &l
		}
	}
	env, err := NewEnv(x, trainSplit(x.Workload))
	if err != nil {
		return nil
	}
	loaded, ok := envs.As[envs.Loaded](env)
	if !ok {
		return nil
	}
	l := loaded.Workload()
	return &l
}

// warnLoad says at the start what is wrong with the load.
func (r *run) warnLoad() {
	if r.world.load == nil {
		return
	}
	for _, w := range r.world.load.Warnings {
		fmt.Fprintf(r.opts.Out, "warning: %s\n", w)
	}
}

// loadOf is the load for run.json.
func (w *world) loadOf() *envs.Load {
	if w.load == nil {
		return nil
	}
	return &w.load.Load
}

// loadJSON is the load for a checkpoint's manifest.
func (w *world) loadJSON() json.RawMessage {
	l := w.loadOf()
	if l == nil {
		return nil
	}
	b, err := json.Marshal(l)
	if err != nil { // a load that is no number, which no environment of the catalog has
		return nil
	}
	return b
}
