package train

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/nets"
)

const (
	configFile = "config.yaml"
	runFile    = "run.json"
)

// description is run.json.
type description struct {
	Name     string    `json:"name"`
	Status   string    `json:"status"`
	Command  []string  `json:"command"`
	Version  string    `json:"version"`
	Revision string    `json:"revision"`
	Started  time.Time `json:"started"`
	Updated  time.Time `json:"updated"`
	Seed     uint64    `json:"seed"`
	Env      string    `json:"env"`
	Agent    string    `json:"agent"`
	Machine  machine   `json:"machine"`
	Engine   nets.Info `json:"engine"`
	Workers  int       `json:"workers"`
	Steps    int64     `json:"steps"`
	Planned  int64     `json:"planned"`
	// Config is the resolved configuration that shapes results.
	Config json.RawMessage `json:"config"`
}

type machine struct {
	Host  string `json:"host"`
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	Go    string `json:"go"`
}

// describe writes run.json and config.yaml.
func (r *run) describe(status string) error {
	x, now := r.world.x, time.Now().UTC()
	path := filepath.Join(r.dir, runFile)
	d := description{
		Name: filepath.Base(r.dir), Status: status, Command: r.opts.Command, Version: r.opts.Version, Revision: r.opts.Revision,
		Started: now, Updated: now, Seed: x.Seed, Env: x.Env.Name, Agent: x.Agent.Name,
		Machine: thisMachine(), Engine: r.world.trainer.Info(), Workers: x.Engine.Workers,
		Steps: r.state.Steps, Planned: x.Train.Steps, Config: r.shape,
	}
	var was description
	if b, err := os.ReadFile(path); err == nil && json.Unmarshal(b, &was) == nil {
		d.Started = was.Started
	}
	b, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	if err := durable.WriteFile(durable.OS{}, path, append(b, '\n')); err != nil {
		return err
	}
	text, err := x.YAML()
	if err != nil {
		return err
	}
	return durable.WriteFile(durable.OS{}, filepath.Join(r.dir, configFile), text)
}

// logSetup shows TensorBoard the configuration and its main numbers.
func (r *run) logSetup() error {
	text, err := r.world.x.YAML()
	if err != nil {
		return err
	}
	if err := r.log.events.Text("config", 0, "```yaml\n"+string(text)+"```"); err != nil {
		return err
	}
	x := r.world.x
	return r.log.events.HParams(map[string]any{
		"agent": x.Agent.Name, "env": x.Env.Name, "seed": float64(x.Seed), "steps": float64(x.Train.Steps), "copies": float64(x.Train.Copies),
		"engine": x.Engine.Name,
	}, nil)
}

func thisMachine() machine {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return machine{Host: host, OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: CPUModel(), Cores: runtime.NumCPU(), Go: runtime.Version()}
}

// CPUModel returns the processor's name where the system tells it.
func CPUModel() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range bytes.Lines(b) {
		if k, v, ok := strings.Cut(string(line), ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}

// freshState returns the state of a learner that has just been made.
func freshState(w *world) (*agents.State, error) {
	s := agents.NewState()
	if err := w.learner.Save(s); err != nil {
		return nil, fmt.Errorf("reading the fresh learner: %w", err)
	}
	return s, nil
}
