package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/machine"
	"github.com/stoker-rl/stoker/nets"
)

const configFile = "config.yaml"

// What run.json says of a run or a session; a stopped one says why.
const (
	statusRunning  = "running"
	statusFinished = "finished"
	statusPaused   = "paused"               // where it was to stop before the planned steps are done
	statusLost     = "ended without a word" // killed, or the machine went down
)

// description is run.json.
type description struct {
	Name    string    `json:"name"`
	Status  string    `json:"status"`
	Started time.Time `json:"started"`
	Updated time.Time `json:"updated"`
	Seed    uint64    `json:"seed"`
	Env     string    `json:"env"`
	Agent   string    `json:"agent"`
	// Steps are those done at the time of Updated; Planned is their total.
	Steps    int64  `json:"steps"`
	Planned  int64  `json:"planned"`
	InitFrom string `json:"init_from,omitempty"`
	// Sessions are the processes that worked on the run, in order: one, and one more for each resume.
	Sessions []session `json:"sessions"`
	// Load is the load that the run trains on, where the environment has one.
	Load *envs.Load `json:"load,omitempty"`
	// Config is the resolved configuration that shapes results.
	Config json.RawMessage `json:"config"`
	// Checksum is the file's own: see [checkpoints.Seal].
	Checksum string `json:"crc32c"`
}

// encode returns run.json.
func (d description) encode() ([]byte, error) {
	d.Checksum = checkpoints.NoSeal
	b, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, err
	}
	b = append(b, '\n')
	checkpoints.Seal(b)
	return b, nil
}

// decode reads what encode wrote. Files of earlier versions have no checksum.
func (d *description) decode(b []byte) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields() // the checksum's own key might be what is damaged
	if err := dec.Decode(d); err != nil {
		return fmt.Errorf("damaged or edited: %w", err)
	}
	return checkpoints.CheckSeal(b)
}

// session is how one process carried the run out.
type session struct {
	Command  []string  `json:"command"`
	Version  string    `json:"version"`
	Revision string    `json:"revision"`
	Folder   string    `json:"folder"` // in which the command was given
	Machine  Machine   `json:"machine"`
	Engine   nets.Info `json:"engine"`
	Auto     string    `json:"auto,omitempty"` // why engine.device: auto chose that engine and device
	Workers  int       `json:"workers"`        // that step environments
	From     int64     `json:"from"`           // step at which it began
	To       int64     `json:"to"`
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended,omitzero"`
	Status   string    `json:"status"`
	// Aside is the folder, in the run's, that keeps the run as it stood before this session went back to From.
	Aside string `json:"aside,omitempty"`
}

func (r *run) newSession() session {
	aside := ""
	if r.aside != "" {
		aside = filepath.Join(asideFolder, filepath.Base(r.aside))
	}
	return session{
		Command: r.opts.Command, Version: r.opts.Version, Revision: r.opts.Revision, Folder: workingFolder(),
		Machine: ThisMachine(), Engine: r.world.trainer.Info(), Auto: r.world.on.Why, Workers: r.world.workers,
		From: r.state.Steps, To: r.state.Steps, Started: time.Now().UTC(), Status: statusRunning, Aside: aside,
	}
}

// readSessions takes over what run.json says of earlier processes. It is there for people: a run whose run.json is
// gone resumes all the same. One that is damaged is refused, lest the run's history be lost without a word.
func (r *run) readSessions() error {
	path := filepath.Join(r.dir, checkpoints.RunFile)
	b, err := durable.ReadFile(r.fs, path, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var d description
	if err := d.decode(b); err != nil {
		return fmt.Errorf("%s: %w; it holds only the run's history: remove it to resume without it", path, err)
	}
	r.sessions, r.started, r.planned, r.status = d.Sessions, d.Started, d.Planned, d.Status
	r.opts.InitFrom = d.InitFrom
	for i := range r.sessions {
		if s := &r.sessions[i]; s.Status == statusRunning {
			s.Status = statusLost
		}
	}
	return nil
}

// describe writes run.json and config.yaml.
func (r *run) describe(status string) error {
	x, now := r.world.x, time.Now().UTC()
	if r.started.IsZero() {
		r.started = now
	}
	if n := len(r.sessions); n > 0 {
		s := &r.sessions[n-1]
		s.To, s.Status = r.state.Steps, status
		if status != statusRunning {
			s.Ended = now
		}
	}
	b, err := description{
		Name: r.opts.Name, Status: status, Started: r.started, Updated: now, Seed: x.Seed, Env: x.Env.Name, Agent: x.Agent.Name,
		Steps: r.state.Steps, Planned: x.Train.Steps, InitFrom: r.opts.InitFrom, Sessions: r.sessions, Load: r.world.loadOf(), Config: r.shape,
	}.encode()
	if err != nil {
		return err
	}
	if err := durable.WriteFile(r.fs, filepath.Join(r.dir, checkpoints.RunFile), b); err != nil {
		return err
	}
	text, err := r.yaml()
	if err != nil {
		return err
	}
	path := filepath.Join(r.dir, configFile)
	if durable.SameFile(r.fs, path, text) {
		return nil
	}
	return durable.WriteFile(r.fs, path, text)
}

// yaml is the configuration as it is written down. It is the same from the run's opening on.
func (r *run) yaml() ([]byte, error) {
	if r.text != nil {
		return r.text, nil
	}
	var err error
	r.text, err = r.world.x.YAML()
	return r.text, err
}

// logSetup shows TensorBoard the configuration and its main numbers.
func (r *run) logSetup() error {
	text, err := r.yaml()
	if err != nil {
		return err
	}
	if err := r.log.events.Text("config", 0, fmt.Sprintf("```yaml\n%s```", text)); err != nil {
		return err
	}
	x := r.world.x
	return r.log.events.HParams(map[string]any{
		"agent": x.Agent.Name, "env": x.Env.Name, "seed": x.Seed, "steps": x.Train.Steps, "copies": x.Train.Envs, "engine": x.Engine.Name,
	}, nil)
}

// Standing is how far a run has come, as its run.json says.
type Standing struct {
	// Status is "running", "finished", "paused" (Options.Until), or "stopped: " and why. A run that was killed is still said to be running.
	Status string
	// Steps were done when the status was written, of those Planned.
	Steps, Planned int64
}

// Finished reports whether all planned steps are done and saved.
func (s Standing) Finished() bool { return s.Status == statusFinished && s.Steps >= s.Planned }

// Paused reports whether the run has stopped before its planned steps because it was to.
func (s Standing) Paused() bool { return s.Status == statusPaused }

// ReadStanding reads how far the run in a folder has come. A missing run.json is an error that is fs.ErrNotExist.
func ReadStanding(dir string) (Standing, error) {
	path := filepath.Join(dir, checkpoints.RunFile)
	b, err := durable.ReadFile(durable.OS{}, path, maxConfig)
	if err != nil {
		return Standing{}, err
	}
	var d description
	if err := d.decode(b); err != nil {
		return Standing{}, fmt.Errorf("%s: %w", path, err)
	}
	return Standing{d.Status, d.Steps, d.Planned}, nil
}

// Machine is where something was computed.
type Machine struct {
	Host  string `json:"host"`
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	Go    string `json:"go"`
}

// ThisMachine describes the machine that runs this program; what the system doesn't tell is "unknown".
func ThisMachine() Machine {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return Machine{Host: host, OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: machine.CPU(),
		Cores: runtime.NumCPU(), Go: runtime.Version()}
}

func workingFolder() string {
	dir, err := os.Getwd()
	if err != nil {
		return "unknown"
	}
	return dir
}
