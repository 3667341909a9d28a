package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/train"
)

// remaker writes the commands on a zoo's card. Whatever their folders are called here, it calls the runs what the
// card's own first commands call them.
type remaker map[string]string // by the path given

func (m remaker) add(run string, x *configs.Experiment) {
	m[filepath.Clean(run)] = filepath.ToSlash(filepath.Join(runsFolder, train.Name(x)))
}

// word is a command's word, with the run that it names, or in which it lies, under its new name.
func (m remaker) word(s string) string {
	path := filepath.Clean(s)
	for run, name := range m {
		if path == run {
			return name
		}
		if rest, ok := strings.CutPrefix(path, run+string(filepath.Separator)); ok {
			return name + "/" + filepath.ToSlash(rest)
		}
	}
	return s
}

// train is the command that makes a run.
func (m remaker) train(run, config string, x *configs.Experiment) (string, error) {
	command := fmt.Sprintf("stoker train %s --seed %d", config, x.Seed)
	b, err := os.ReadFile(filepath.Join(run, checkpoints.RunFile))
	if errors.Is(err, fs.ErrNotExist) { // a checkpoint alone, or a run whose history was removed
		return command, nil
	}
	if err != nil {
		return "", err
	}
	var d struct {
		InitFrom string `json:"init_from"`
	}
	if err := json.Unmarshal(b, &d); err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Join(run, checkpoints.RunFile), err)
	}
	if d.InitFrom == "" {
		return command, nil
	}
	ck, err := train.OpenCheckpoint(d.InitFrom)
	if err != nil {
		return "", fmt.Errorf("%s began from the weights of %s, which the card names: %w", run, d.InitFrom, err)
	}
	from, err := train.ReadExperiment(ck, nil, catalog.Default())
	if err != nil {
		return "", err
	}
	return command + " --init-from " + filepath.ToSlash(filepath.Join(runsFolder, train.Name(from))), nil
}

// eval reads an eval.json and the command that made it.
func (m remaker) eval(folder string) (text []byte, command string, err error) {
	text, err = os.ReadFile(filepath.Join(folder, eval.SummaryFile))
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("--eval %s: there is no evaluation: run stoker eval first", folder), err)
	}
	var s struct {
		Command []string `json:"command"`
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, "", fmt.Errorf("--eval %s: %w", folder, err)
	}
	command = "stoker"
	for _, word := range s.Command[min(1, len(s.Command)):] {
		command += " " + quote(m.word(word))
	}
	return text, command, nil
}
