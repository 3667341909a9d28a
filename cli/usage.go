package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/train"
)

// usage is an error in how the command was called: exit code 2.
func usage(format string, args ...any) error { return train.Usage(format, args...) }

// knownCommand refuses what is no command, and names the nearest one.
func knownCommand(c *cobra.Command, a []string) error {
	if len(a) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return usage("no command %q%s\nsee: %s --help", a[0], didYouMean(a[0], names, ""), c.CommandPath())
}

// flagError says what is wrong with a flag in our words, and names the nearest one.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var wrong wants
	text := err.Error()
	errors.As(err, &invalid)
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		text = fmt.Sprintf("no flag --%s%s", unknown.GetSpecifiedName(),
			didYouMean(unknown.GetSpecifiedName(), names, "--"))
	case errors.As(err, &wrong):
		text = fmt.Sprintf("--%s is %q, want %s", invalid.GetFlag().Name, invalid.GetValue(), string(wrong))
	case invalid != nil && invalid.GetFlag().Name == "seeds":
		text = fmt.Sprintf("--seeds: %v", invalid.Unwrap())
	case invalid != nil:
		text = fmt.Sprintf("--%s is %q, want %s", invalid.GetFlag().Name, invalid.GetValue(),
			flagWants(invalid.GetFlag().Value.Type()))
	}
	return usage("%s\nsee: %s --help", text, c.CommandPath())
}

// flagWants says what a flag of a type holds.
func flagWants(kind string) string {
	switch kind {
	case "uint64":
		return "a whole number of at least 0"
	case "int", "int64":
		return "a whole number"
	case "float64":
		return "a number"
	case "bool":
		return "true or false"
	case "intSlice":
		return "whole numbers, such as 5,12"
	}
	return "a " + kind
}

// didYouMean is a hint, empty where nothing is near.
func didYouMean(got string, names []string, prefix string) string {
	if near := configs.Nearest(got, names); near != "" {
		return fmt.Sprintf("; did you mean %s%s?", prefix, near)
	}
	return ""
}

// args takes from least to most arguments (any number where most is negative), called what.
func args(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, a []string) error {
		switch {
		case len(a) < least:
			return usage("%s is missing\nusage: %s", what, c.UseLine())
		case most >= 0 && len(a) > most:
			return usage("too many arguments: %s\nusage: %s", strings.Join(a[most:], " "), c.UseLine())
		}
		return nil
	}
}
