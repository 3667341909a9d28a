package cli

import (
	"fmt"
	"strings"

	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/eval/export"
)

func exportCommand() *command {
	var eval, fallback string
	var force, overwrite bool
	format := string(export.Bundle)
	return &command{
		name: "export", takes: "RUN|CHECKPOINT|zoo:NAME", args: arguments{1, 1, "RUN, CHECKPOINT or zoo:NAME"},
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
			ctx, release := c.stoppable("stopping, nothing is written")
			defer release()
			p, err := export.Collect(ctx, c.Catalog, c.args[0], export.Options{
				Eval: eval, Force: force, Fallback: fallback, Progress: c.count("episodes of the evaluation"),
			})
			if err != nil {
				return nil, err
			}
			files, err := p.Write(ctx, c.folder, formats, overwrite)
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
