package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/remote"
	"github.com/stoker-rl/stoker/train"
)

// wanted is what a client of stoker step-server asks for.
type wanted struct {
	// Config is a configuration's file or a shipped one's name. Text, where it is given, is read in its place.
	Config string `json:"config"`
	Text   string `json:"text"`
	// Overrides are settings key=value.
	Overrides []string `json:"overrides"`
	// Split is the part of the workload: train, test or all.
	Split   string `json:"split"`
	Copies  int    `json:"copies"`
	Workers int    `json:"workers"` // 0: one per core
	// Illegal says what becomes of a choice that the masks forbid: substitute or raise.
	Illegal string `json:"illegal"`
}

func stepServerCommand() *command {
	return &command{
		name: "step-server",
		run: func(c *call) (any, error) {
			s := remote.Server{Version: versionLine(), Open: c.openRemote}
			return nil, s.Serve(remote.Eager(os.Stdin), os.Stdout)
		},
	}
}

// openRemote reads what a client asks for.
func (c *call) openRemote(request []byte) (func() (envs.Env, error), remote.Options, error) {
	w, o := wanted{Split: "train", Copies: 1, Illegal: "substitute"}, remote.Options{}
	if err := json.Unmarshal(request, &w); err != nil {
		return nil, o, fmt.Errorf("the request is no JSON of the expected form: %w", err)
	}
	if w.Illegal != "substitute" && w.Illegal != "raise" {
		return nil, o, fmt.Errorf("illegal is %q, want substitute or raise", w.Illegal)
	}
	if w.Split != "train" && w.Split != "test" && w.Split != "all" {
		return nil, o, fmt.Errorf("split is %q, want train, test or all", w.Split)
	}
	if w.Workers == 0 {
		w.Workers = runtime.GOMAXPROCS(0)
	}
	o = remote.Options{Copies: w.Copies, Workers: w.Workers, Substitute: w.Illegal == "substitute"}
	x, err := c.wanted(&w)
	return func() (envs.Env, error) { return train.NewEnv(x, w.Split) }, o, err
}

// wanted reads a client's configuration.
func (c *call) wanted(w *wanted) (*configs.Experiment, error) {
	if w.Text == "" {
		return c.experiment(w.Config, w.Overrides)
	}
	x, err := configs.Parse(w.Config, []byte(w.Text), w.Overrides, c.Catalog)
	if err == nil {
		c.renamed(x)
	}
	return x, err
}
