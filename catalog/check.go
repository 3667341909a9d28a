package catalog

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"

	"github.com/stoker-rl/stoker/bounds"
)

var (
	envID   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9][A-Za-z0-9_]*-v[0-9]+$`)
	rowName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)
)

// Check reports rows that cannot be used: two of one name, a name that a configuration or a command line could not
// write, a part that is missing, tags of a configuration that are wrong. It names each row.
func (c *Catalog) Check() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	seen := map[string]bool{}
	row := func(what, name, doc string, ok bool, rule string, config func() any, complete bool, define string) bool {
		key := what + " " + name
		switch {
		case seen[key]:
			add("two %ss are called %q: give one of them another name", what, name)
			return false
		case !ok:
			add("%s %q: want a name such as %s", what, name, rule)
		case doc == "":
			add("%s %q: Doc is empty, want a sentence", what, name)
		case config == nil || !complete:
			add("%s %q: the row is incomplete, make it with catalog.%s", what, name, define)
		default:
			if err := checkConfig(config()); err != nil {
				add("%s %q: %w", what, name, err)
			}
		}
		seen[key] = true
		return true
	}
	for _, e := range c.Envs {
		row("environment", e.ID, e.Doc, envID.MatchString(e.ID), "mine/Room-v1", e.Config, e.New != nil, "DefineEnv")
	}
	for _, l := range c.Learners {
		row("learner", l.Name, l.Doc, rowName.MatchString(l.Name), "climb, of a-z, 0-9, - and _", l.Config,
			l.New != nil && l.Open != nil, "DefineLearner")
	}
	for _, r := range c.Rivals {
		if !row("rival", r.Name, r.Doc, rowName.MatchString(r.Name), "thermostat, of a-z, 0-9, - and _", r.Config,
			r.New != nil, "DefinePolicy, DefineTuner or DefinePlanner") {
			continue
		}
		for _, id := range r.Envs {
			if _, err := c.Env(id); err != nil {
				add("rival %q: Envs: %w", r.Name, err)
			}
		}
	}
	return errors.Join(problems...)
}

// checkConfig checks what a row's Config returns.
func checkConfig(config any) error {
	t := reflect.TypeOf(config)
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("its Config returns a %T, want a pointer to a struct", config)
	}
	if _, err := bounds.Fields(t); err != nil {
		return fmt.Errorf("configuration %s: %w", t.Elem(), err)
	}
	return nil
}
