package cli

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// completionCommand is completion in words of ours, which refuses a shell that there is none for.
func completionCommand() *cobra.Command {
	shells := map[string]func(*cobra.Command, io.Writer) error{
		"bash":       func(c *cobra.Command, w io.Writer) error { return c.GenBashCompletionV2(w, true) },
		"zsh":        func(c *cobra.Command, w io.Writer) error { return c.GenZshCompletion(w) },
		"fish":       func(c *cobra.Command, w io.Writer) error { return c.GenFishCompletion(w, true) },
		"powershell": func(c *cobra.Command, w io.Writer) error { return c.GenPowerShellCompletionWithDesc(w) },
	}
	known := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the script by which a shell completes commands, flags, keys and names",
		Long: `Print the script by which a shell (bash, zsh, fish, powershell) completes commands, flags, the keys of --set with their
values, environments, learners, rivals and checkpoints.`,
		Example: `  source <(stoker completion bash)                             # this shell; bash needs the package bash-completion
  stoker completion bash > ~/.local/share/bash-completion/completions/stoker
  stoker completion zsh > "${fpath[1]}/_stoker"
  stoker completion fish > ~/.config/fish/completions/stoker.fish`,
		Args: args(1, 1, "SHELL, "+strings.Join(known, ", ")+","),
		RunE: func(c *cobra.Command, a []string) error {
			write, ok := shells[a[0]]
			if !ok {
				return usage("no completion for %q%s; there is one for %s", a[0], didYouMean(a[0], known, ""),
					strings.Join(known, ", "))
			}
			return write(c.Root(), c.OutOrStdout())
		},
		ValidArgsFunction: func(_ *cobra.Command, a []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(a) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return slices.Clone(known), cobra.ShellCompDirectiveNoFileComp
		},
	}
}
