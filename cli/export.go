package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/eval/export"
)

type exportFlags struct {
	formats, out, eval, fallback string
	force, overwrite, json       bool
}

func exportCommand() *cobra.Command {
	var f exportFlags
	c := &cobra.Command{
		Use:   "export RUN|CHECKPOINT|zoo:NAME",
		Short: "Write a trained policy as a file to serve: a bundle, ONNX, or its weights",
		Long: `Write a trained policy as a file that other programs use. Of a run the best checkpoint is taken.

  bundle       NAME.stoker: one file with the weights and all that a server needs: what is seen and done, the environment's
               configuration, the ranges of features met in the evaluation, the evaluation itself, and a rule that acts
               where the policy must not. Go programs open it with package policy; stoker check verifies it
  onnx         NAME.onnx: the policy alone, with its normalisation and in the platform's units, for any ONNX runtime
  safetensors  NAME.safetensors: the weights alone, a tensor per layer, for PyTorch and others

A policy that was never evaluated is refused; --force exports it all the same and says so in the file. The evaluation is
found in the run's folder, or named with --eval. It is played again, which takes about as long as it took for this policy,
to see what range each feature has. The same checkpoint and evaluation give the same bytes.`,
		Example: `  stoker export runs/sizing-s1
  stoker export zoo:faasconf --format bundle,onnx,safetensors --out exported/
  stoker export runs/sizing-s1 --eval compare/ --fallback fixed
  stoker export runs/sizing-s1/checkpoints/step-000000100000 --force --json`,
		Args: args(1, 1, "RUN, CHECKPOINT or zoo:NAME"),
		RunE: func(c *cobra.Command, a []string) error { return runExport(c, a[0], f) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var out []string
			for _, name := range zoo.Names() {
				out = append(out, zoo.Prefix+name)
			}
			return out, cobra.ShellCompDirectiveDefault
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.formats, "format", string(export.Bundle), "what to write, with commas between: "+
		strings.Join(export.Formats(), ", "))
	fl.StringVar(&f.out, "out", ".", "folder of the files")
	fl.StringVar(&f.eval, "eval", "", "folder of the policy's evaluation (default: the one in the run's folder, or on the card)")
	fl.StringVar(&f.fallback, "fallback", "", "rule that acts where the policy must not, or none (default: the environment's)")
	fl.BoolVar(&f.force, "force", false, "export a policy that was never evaluated, and say so in the file")
	fl.BoolVar(&f.overwrite, "overwrite", false, "replace a file that is there and is another one")
	fl.BoolVar(&f.json, "json", false, "print what was written as JSON")
	completeLists(c, "format", export.Formats()...)
	completeWords(c, "fallback", export.Fallbacks()...)
	return c
}

func runExport(c *cobra.Command, path string, f exportFlags) error {
	formats, err := export.ParseFormats(f.formats)
	if err != nil {
		return err
	}
	ctx, release := onSignal(c.Context(), c.ErrOrStderr(), "stopping, nothing is written")
	defer release()
	p, err := export.Collect(ctx, names(c), path, export.Options{
		Eval: f.eval, Force: f.force, Fallback: f.fallback, Progress: countProgress(c, "episodes of the evaluation"),
	})
	if err != nil {
		return err
	}
	files, err := p.Write(ctx, f.out, formats, f.overwrite)
	if err != nil {
		return err
	}
	for _, note := range p.Notes {
		fmt.Fprintln(c.ErrOrStderr(), "note: "+note)
	}
	if f.json {
		return printJSON(c.OutOrStdout(), files)
	}
	fmt.Fprint(c.OutOrStdout(), p.Text(files))
	return nil
}
