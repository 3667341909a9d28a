package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/suites"
)

// Program is what a command's arguments and configurations may name.
type Program struct {
	Catalog *catalog.Catalog
	Suites  []suite.Suite
}

// Default is what comes with Stoker. The caller owns it and may add to it.
func Default() *Program { return &Program{Catalog: catalog.Default(), Suites: suites.All()} }

// check reports rows that cannot be used.
func (p *Program) check() error {
	problems := []error{p.Catalog.Check()}
	seen := map[string]bool{}
	for _, s := range p.Suites {
		if seen[s.Name] {
			problems = append(problems, fmt.Errorf("two suites are called %q: give one of them another name", s.Name))
		}
		seen[s.Name] = true
	}
	if err := errors.Join(problems...); err != nil {
		return usage("this program's main: %w", err)
	}
	return nil
}

// programKey finds the program in a command's context.
type programKey struct{}

// program returns the program that [Main] was given.
func program(c *cobra.Command) *Program {
	if ctx := c.Context(); ctx != nil {
		if p, _ := ctx.Value(programKey{}).(*Program); p != nil {
			return p
		}
	}
	return Default()
}

// names returns the program's catalog.
func names(c *cobra.Command) *catalog.Catalog { return program(c).Catalog }
