package zoo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
)

// Card describes a policy of the zoo. Everything but About is computed from the checkpoint, its run and its
// evaluations.
type Card struct {
	Name string `json:"name"`
	// About is a sentence about the policy's purpose.
	About string `json:"about"`
	// Env is the environment in which it was trained, Agent the learner, Experiment the configuration's name.
	Env        string `json:"env"`
	Agent      string `json:"agent"`
	Experiment string `json:"experiment"`
	// Seed is the policy's training seed, Seeds those of all runs from which it was chosen.
	Seed  uint64   `json:"seed"`
	Seeds []uint64 `json:"seeds"`
	// Steps is the number of environment steps until its checkpoint, Planned that of the whole run.
	Steps   int64 `json:"steps"`
	Planned int64 `json:"planned"`
	// Engine, Kernels and CreatedBy (the program and its version) computed it.
	Engine    string `json:"engine"`
	Kernels   string `json:"kernel_family"`
	CreatedBy string `json:"created_by"`
	// Remake are the commands that train and evaluate it again.
	Remake []string `json:"remake"`
	// ID is the hash of the whole checkpoint, Files are its files, Bytes is the sum of their sizes.
	ID    string                          `json:"sha256"`
	Bytes int64                           `json:"bytes"`
	Files map[string]checkpoints.FileInfo `json:"files"`
	// Evaluations are results of `stoker eval`.
	Evaluations []Evaluation `json:"evaluations"`
	// Config is the whole configuration, as the checkpoint has it.
	Config json.RawMessage `json:"config"`
}

// Evaluation is the part of an eval.json that a card contains.
type Evaluation struct {
	// Policy is the policy's name in it; where it was trained with several seeds, the numbers are of all of them together.
	Policy    string          `json:"policy"`
	EnvConfig json.RawMessage `json:"env_config"`
	Workload  json.RawMessage `json:"workload"`
	Seeds     []uint64        `json:"seeds"`
	Split     string          `json:"split"`
	Statistic string          `json:"statistic"`
	Metrics   []Metric        `json:"metrics"`
	// Policies are all that were compared, Comparisons those of Policy with the others.
	Policies    []Result     `json:"policies"`
	Comparisons []Comparison `json:"comparisons"`
}

// Metric is a compared quantity.
type Metric struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	Better string `json:"better"`
}

// Result is one policy's estimates.
type Result struct {
	Name          string              `json:"name"`
	Kind          string              `json:"kind"`
	TrainingSeeds []uint64            `json:"training_seeds,omitempty"`
	Sources       []string            `json:"sources,omitempty"`
	Metrics       map[string]Estimate `json:"metrics"`
}

// Estimate is an interquartile mean and a mean with their 95 % intervals; nil where a score is missing. Cards of older
// evaluations have no mean.
type Estimate struct {
	IQM    *float64 `json:"iqm"`
	Lo     *float64 `json:"lo"`
	Hi     *float64 `json:"hi"`
	Mean   *float64 `json:"mean,omitempty"`
	MeanLo *float64 `json:"mean_lo,omitempty"`
	MeanHi *float64 `json:"mean_hi,omitempty"`
	// BySeed are the means of the training seeds, where there are several.
	BySeed []float64 `json:"by_training_seed,omitempty"`
}

// fewSeeds is the number of training seeds from which an estimate has an interval: with fewer their range is shown.
const fewSeeds = 4

// String writes the mean as evaluations show it, or the interquartile mean where the mean has no interval.
func (e Estimate) String() string {
	switch {
	case e.MeanLo == nil:
		return fmt.Sprintf("%s [%s, %s]", number(e.IQM), number(e.Lo), number(e.Hi))
	case len(e.BySeed) > 1 && len(e.BySeed) < fewSeeds:
		low, high := slices.Min(e.BySeed), slices.Max(e.BySeed)
		return fmt.Sprintf("%s (%s to %s)", number(e.Mean), number(&low), number(&high))
	}
	return fmt.Sprintf("%s [%s, %s]", number(e.Mean), number(e.MeanLo), number(e.MeanHi))
}

// Comparison is the mean paired difference a − b, with its simultaneous interval and the verdict.
type Comparison struct {
	A          string   `json:"a"`
	B          string   `json:"b"`
	Metric     string   `json:"metric"`
	Difference *float64 `json:"difference"`
	Lo         *float64 `json:"simultaneous_lo"`
	Hi         *float64 `json:"simultaneous_hi"`
	PHolm      *float64 `json:"p_holm"`
	Scope      string   `json:"scope"`
	Verdict    string   `json:"verdict"`
}

// ReadEvaluation returns the part of an eval.json about one policy: the one of the given name or with one of the given
// sources.
func ReadEvaluation(text []byte, name string, sources ...string) (*Evaluation, error) {
	var e Evaluation
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("is not an eval.json: %w", err)
	}
	is := func(r Result) bool {
		return r.Name == name || slices.ContainsFunc(r.Sources, func(s string) bool { return slices.Contains(sources, s) })
	}
	at := slices.IndexFunc(e.Policies, is)
	if at < 0 {
		return nil, fmt.Errorf("compares %d policies, and none of them is %s or comes from one of %q", len(e.Policies), name,
			sources)
	}
	e.Policy = e.Policies[at].Name
	for i := range e.Policies {
		e.Policies[i].Sources = nil // paths of the machine that evaluated
	}
	e.Comparisons = slices.DeleteFunc(e.Comparisons, func(c Comparison) bool { return c.A != e.Policy && c.B != e.Policy })
	return &e, nil
}

// describe fills in the fields that follow from the checkpoint.
func (c *Card) describe(ck *checkpoints.Checkpoint) error {
	h := ck.Header()
	var x struct {
		Name string `json:"name"`
		Seed uint64 `json:"seed"`
		Env  struct {
			ID string `json:"id"`
		} `json:"env"`
		Agent struct {
			Name string `json:"name"`
		} `json:"agent"`
		Engine struct {
			Name string `json:"name"`
		} `json:"engine"`
		Train struct {
			Steps int64 `json:"steps"`
		} `json:"train"`
	}
	if err := json.Unmarshal(h.Config, &x); err != nil {
		return fmt.Errorf("%s: config: %w", ck.Dir(), err)
	}
	c.Env, c.Agent, c.Experiment, c.Seed, c.Engine = x.Env.ID, x.Agent.Name, x.Name, x.Seed, x.Engine.Name
	c.Steps, c.Planned = h.Counters["steps"], x.Train.Steps
	c.Kernels, c.CreatedBy = h.Kernels, h.CreatedBy
	c.ID, c.Files, c.Bytes = ck.ID(), maps.Clone(ck.Files()), 0
	for _, f := range c.Files {
		c.Bytes += f.Bytes
	}
	var config bytes.Buffer
	if err := json.Compact(&config, h.Config); err != nil {
		return err
	}
	c.Config = config.Bytes()
	return nil
}

// Check returns an error where the card is not that of the checkpoint, or the checkpoint is too large.
func (c *Card) Check(ck *checkpoints.Checkpoint) error {
	is := *c
	if err := is.describe(ck); err != nil {
		return err
	}
	was, err := c.Encode()
	if err != nil {
		return err
	}
	now, err := is.Encode()
	if err != nil {
		return err
	}
	if !bytes.Equal(was, now) {
		return fmt.Errorf("the card of %s is not that of %s: make it anew with stoker zoo card", c.Name, ck.Dir())
	}
	if c.Bytes > MaxBytes {
		return fmt.Errorf("%s has %d bytes, want at most %d", c.Name, c.Bytes, MaxBytes)
	}
	return nil
}

// Encode returns the card as card.json holds it.
func (c *Card) Encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(c)
	return b.Bytes(), err
}

func (c *Card) validate() error {
	switch {
	case c.Name == "" || !validName(c.Name):
		return fmt.Errorf("name is %q, want small letters, digits and '-', a letter first", c.Name)
	case c.About == "":
		return errors.New("about is empty, want a sentence that says what the policy is for")
	}
	return nil
}

func validName(s string) bool {
	for i, r := range s {
		if !(r >= 'a' && r <= 'z') && (i == 0 || !(r >= '0' && r <= '9') && r != '-') {
			return false
		}
	}
	return len(s) <= 60
}

// Recipe holds what [Make] cannot read from a checkpoint.
type Recipe struct {
	Name, About string
	// Seeds are the training seeds of the runs from which the policy was chosen.
	Seeds []uint64
	// Remake are the commands that train and evaluate the policy again.
	Remake []string
	// Evaluations are the texts of eval.json files; Policy is the policy's name in them, Sources are its checkpoints
	// there.
	Evaluations [][]byte
	Policy      string
	Sources     []string
}

// Make writes the entry of a checkpoint into the folder dir of entries and replaces one of that name: the exported
// policy with the files named in also (see [checkpoints.ExportPolicy]), and its card.
func Make(dir string, ck *checkpoints.Checkpoint, r Recipe, also ...string) (*Card, error) {
	c := &Card{Name: r.Name, About: r.About, Seeds: slices.Sorted(slices.Values(r.Seeds)), Remake: r.Remake,
		Evaluations: []Evaluation{}}
	if err := c.validate(); err != nil {
		return nil, err
	}
	if err := c.evaluated(r.Evaluations, r.Policy, r.Sources...); err != nil {
		return nil, err
	}
	at := filepath.Join(dir, r.Name)
	if err := os.MkdirAll(at, 0o777); err != nil {
		return nil, err
	}
	policy := filepath.Join(at, PolicyDir)
	if err := os.RemoveAll(policy); err != nil {
		return nil, err
	}
	p, err := checkpoints.ExportPolicy(ck, durable.OS{}, policy, also...)
	if err != nil {
		return nil, err
	}
	if err := c.describe(p); err != nil {
		return nil, err
	}
	return c, c.write(at, p)
}

// Renew gives the entry of a name in the folder dir other evaluations, texts of eval.json in which zoo:NAME plays. The
// policy stays. Of the commands on its card those that train stay, and evals follow.
func Renew(dir, name string, evaluations [][]byte, evals []string) (*Card, error) {
	c, err := readCard(os.DirFS(dir), name)
	if err != nil {
		return nil, err
	}
	ck, err := open(os.DirFS(dir), name)
	if err != nil {
		return nil, err
	}
	if err := c.evaluated(evaluations, Prefix+name, Prefix+name); err != nil {
		return nil, err
	}
	c.Remake = slices.DeleteFunc(c.Remake, func(s string) bool { return !strings.HasPrefix(s, "stoker train") })
	c.Remake = append(c.Remake, evals...)
	return c, c.write(filepath.Join(dir, name), ck)
}

// evaluated reads the evaluations in which a policy plays.
func (c *Card) evaluated(texts [][]byte, policy string, sources ...string) error {
	c.Evaluations = []Evaluation{}
	for i, text := range texts {
		e, err := ReadEvaluation(text, policy, sources...)
		if err != nil {
			return fmt.Errorf("evaluation %d: %w", i+1, err)
		}
		c.Evaluations = append(c.Evaluations, *e)
	}
	return nil
}

// write writes the card and its page, if the card is that of the checkpoint.
func (c *Card) write(at string, ck *checkpoints.Checkpoint) error {
	if err := c.Check(ck); err != nil {
		return err
	}
	text, err := c.Encode()
	if err != nil {
		return err
	}
	page, err := c.Page()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(at, CardFile), text, 0o666); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(at, PageFile), page, 0o666)
}
