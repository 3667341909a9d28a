package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/export"
	"github.com/stoker-rl/stoker/internal/shell"
	"github.com/stoker-rl/stoker/train"
)

func exportCommand() *command {
	var eval, fallback string
	var force, overwrite bool
	format := string(export.Bundle)
	return &command{
		name: "export", takes: "RUN|CHECKPOINT|zoo:NAME", args: arguments{1, 1, "RUN, CHECKPOINT or zoo:NAME"},
		stop: "stopping, nothing is written",
		json: "print what was written as JSON", out: "folder of the files", outIs: ".",
		flags: []flag{
			option(&format, "format", "what to write, with commas between: "+strings.Join(export.Formats(), ", ")).
				by(wordLists(export.Formats()...)),
			option(&eval, "eval",
				"folder of the policy's evaluation (default: the one in the run's folder, or on the card)"),
			option(&fallback, "fallback", "rule that acts where the policy must not, or none (default: the environment's)",
				export.Fallbacks()...),
			option(&force, "force", "export a policy that was never evaluated, and say so in the file"),
			option(&overwrite, "overwrite", "replace a file that is there and is another one"),
		},
		complete: among(orFiles, func(*call) (out []string) {
			for _, name := range zoo.Names() {
				out = append(out, zoo.Prefix+name)
			}
			return out
		}),
		run: func(c *call) (any, error) {
			formats, err := export.ParseFormats(format)
			if err != nil {
				return nil, err
			}
			p, err := export.Collect(c.ctx, c.Catalog, c.args[0], export.Options{
				Eval: eval, Force: force, Fallback: fallback, Progress: c.count("episodes of the evaluation"),
			})
			if err != nil {
				return nil, err
			}
			files, err := p.Write(c.ctx, c.folder, formats, overwrite)
			if err != nil {
				return nil, err
			}
			for _, note := range p.Notes {
				fmt.Fprintln(c.errs, "note: "+note)
			}
			fmt.Fprint(c, p.Text(files))
			return files, nil
		},
	}
}

func checkCommand() *command {
	return &command{
		name: "check", takes: "PATH", args: arguments{1, 1, "PATH"},
		json: "print the report as JSON",
		run: func(c *call) (any, error) {
			check := checkpoints.Check
			if name, ok := zoo.Cut(c.args[0]); ok {
				check = func(string) (*checkpoints.Report, error) { return zoo.Check(name) }
			} else if _, err := os.Lstat(c.args[0]); errors.Is(err, fs.ErrNotExist) {
				return nil, train.Missing(c.args[0], "a run's folder, a checkpoint or an exported policy")
			} else if filepath.Ext(c.args[0]) == bundle.Extension {
				check = func(path string) (*checkpoints.Report, error) { return export.Check(c.Catalog, path) }
			}
			rep, err := check(c.args[0])
			if rep == nil {
				return nil, err
			}
			if rep.Kind == "run" {
				if _, wrong := train.ReadConfig(c.args[0], c.Catalog); wrong != nil {
					err = rep.Refuse("config.yaml", wrong)
				}
			}
			fmt.Fprintln(c, rep)
			return rep, err
		},
	}
}

func zooCommand() *command {
	return &command{
		name: "zoo", takes: "[NAME]", args: arguments{most: 1},
		json:     "print as JSON",
		complete: among(onlyThem, func(*call) []string { return zoo.Names() }),
		run: func(c *call) (any, error) {
			if len(c.args) == 0 {
				return listZoo(c)
			}
			name := strings.TrimPrefix(c.args[0], zoo.Prefix)
			card, err := zoo.ReadCard(name)
			if err != nil {
				return nil, usage("%w%s", err, didYouMean(name, zoo.Names(), ""))
			}
			page, err := card.Page()
			if err != nil {
				return nil, err
			}
			_, err = c.Write(page)
			return card, err
		},
		sub: []*command{zooCardCommand()},
	}
}

func listZoo(c *call) (any, error) {
	list, err := zoo.List()
	if err != nil {
		return nil, err
	}
	t := tabwriter.NewWriter(c, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "policy\tenvironment\tsize\twhat it is")
	for _, e := range list {
		first, _, more := strings.Cut(e.Card.About, ". ")
		if more {
			first += "." // the card has the rest
		}
		fmt.Fprintf(t, "%s%s\t%s\t%d kB\t%s\n", zoo.Prefix, e.Name, e.Card.Env, (e.Card.Bytes+999)/1000, first)
	}
	if err := t.Flush(); err != nil || len(list) == 0 {
		return list, err
	}
	_, err = fmt.Fprintf(c,
		"\nits card:    stoker zoo %[1]s\nevaluate it: stoker eval %[2]s%[1]s --out compare/%[1]s\n", list[0].Name, zoo.Prefix)
	return list, err
}

type cardFlags struct {
	name, about, config string
	evals               []string
}

func zooCardCommand() *command {
	f := &cardFlags{}
	return &command{
		name: "zoo card", takes: "RUN…", args: arguments{1, -1, "RUN"},
		json: "print the card as JSON", out: "the zoo's folder", outIs: filepath.Join("checkpoints", "zoo"),
		flags: []flag{
			option(&f.name, "name", "the entry's name, as in hops-pricer"),
			option(&f.about, "about", "what the policy is for, in a sentence"),
			option(&f.config, "config",
				"the configuration of the runs, for the command on the card; it must be the one that made them"),
			option(repeated{&f.evals}, "eval",
				"folder of a stoker eval of these runs (repeatable; default: eval in the first run's folder)"),
		},
		run: f.run,
	}
}

// trials is the number of episodes that decide which run's policy comes into the zoo.
const trials = 20

// A contender is a run's best checkpoint, and how it does in episodes that are the same for all runs.
type contender struct {
	ck    *checkpoints.Checkpoint
	x     *configs.Experiment
	trial float64
}

func (f *cardFlags) run(c *call) (any, error) {
	runs := c.args
	if name, ok := zoo.Cut(runs[0]); ok && len(runs) == 1 {
		return f.renew(c, name)
	}
	if f.name == "" || f.about == "" || f.config == "" {
		return nil, usage("--name, --about and --config are needed: see stoker zoo card --help")
	}
	var all []contender
	names := remaker{}
	for _, run := range runs {
		o, err := openContender(run)
		if err != nil {
			return nil, err
		}
		if err := sameConfig(o.x, f.config); err != nil {
			return nil, err
		}
		all = append(all, *o)
		names.add(run, o.x)
	}
	best := all[0]
	for _, o := range all[1:] {
		if o.trial > best.trial {
			best = o
		}
	}
	r := zoo.Recipe{Name: f.name, About: f.about, Policy: zoo.Prefix + f.name}
	for i, o := range all {
		command, err := names.train(runs[i], f.config, o.x)
		if err != nil {
			return nil, err
		}
		r.Seeds, r.Sources, r.Remake = append(r.Seeds, o.x.Seed), append(r.Sources, o.ck.Dir()), append(r.Remake,
			command)
	}
	if len(f.evals) == 0 {
		f.evals = []string{filepath.Join(runs[0], "eval")}
	}
	for _, folder := range f.evals {
		text, command, err := names.eval(folder)
		if err != nil {
			return nil, err
		}
		r.Evaluations, r.Remake = append(r.Evaluations, text), append(r.Remake, command)
	}
	card, err := zoo.Make(c.folder, best.ck, r, train.PolicyFile)
	if err != nil {
		return nil, err
	}
	at := filepath.Join(c.folder, f.name)
	fmt.Fprintf(c, "%s: the policy of seed %d after %d steps, %d bytes\ncard: %s\n", at, card.Seed,
		card.Steps, card.Bytes, filepath.Join(at, zoo.PageFile))
	return card, nil
}

// renew makes the card of a policy of the zoo anew, from other evaluations of it.
func (f *cardFlags) renew(c *call, name string) (any, error) {
	if f.name != "" || f.about != "" || f.config != "" || len(f.evals) == 0 {
		return nil, usage("zoo:%s keeps its name, --about and --config; want --eval with folders in which it was evaluated", name)
	}
	var texts [][]byte
	var commands []string
	for _, folder := range f.evals {
		text, command, err := remaker{}.eval(folder)
		if err != nil {
			return nil, err
		}
		texts, commands = append(texts, text), append(commands, command)
	}
	card, err := zoo.Renew(c.folder, name, texts, commands)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(c, "card: %s\n", filepath.Join(c.folder, name, zoo.PageFile))
	return card, nil
}

// openContender opens a run's best checkpoint and tries it.
func openContender(run string) (*contender, error) {
	ck, err := train.OpenCheckpoint(run)
	if err != nil {
		return nil, err
	}
	x, err := train.ReadExperiment(ck, nil, catalog.Default())
	if err != nil {
		return nil, err
	}
	o := &contender{ck: ck, x: x}
	o.trial, err = train.Trial(ck, x, trials)
	return o, err
}

// sameConfig says whether a configuration file makes an experiment, its seed and what computes aside.
func sameConfig(x *configs.Experiment, path string) error {
	y, err := configs.Load(path, nil, x.Catalog)
	if err != nil {
		return usage("--config: %w", err)
	}
	y.Seed, y.Engine, y.Workload.Path = x.Seed, x.Engine, x.Workload.Path
	z := *x
	z.Eval = y.Eval // how it is evaluated changes no policy
	was, err := z.YAML()
	if err != nil {
		return err
	}
	now, err := y.YAML()
	if err != nil {
		return err
	}
	if string(was) != string(now) {
		return usage("--config: %s is not the configuration of this run: compare stoker train %s --print-config "+
			"with its config.yaml", path, path)
	}
	return nil
}

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
	switch {
	case d.InitFrom == "":
		return command, nil
	case strings.HasPrefix(d.InitFrom, zoo.Prefix):
		return command + " --init-from " + d.InitFrom, nil
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
		command += " " + shell.Quote(m.word(word))
	}
	return text, command, nil
}
