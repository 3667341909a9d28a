package zoo

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
)

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
	for i, text := range r.Evaluations {
		e, err := ReadEvaluation(text, r.Policy, r.Sources...)
		if err != nil {
			return nil, fmt.Errorf("evaluation %d: %w", i+1, err)
		}
		c.Evaluations = append(c.Evaluations, *e)
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
	if err := c.Check(p); err != nil {
		return nil, err
	}
	text, err := c.Encode()
	if err != nil {
		return nil, err
	}
	page, err := c.Page()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(at, CardFile), text, 0o666); err != nil {
		return nil, err
	}
	return c, os.WriteFile(filepath.Join(at, PageFile), page, 0o666)
}
