package schema

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
)

// Of returns the schema of the configuration files that name a catalog's rows: that of configs/schema.json, without the
// rows that c lacks and with those that it adds. The descriptions of an added row's keys are the comments in its
// Source.
func Of(c *catalog.Catalog) ([]byte, error) {
	s := &jsonschema.Schema{}
	if err := json.Unmarshal(configs.Schema(), s); err != nil {
		return nil, fmt.Errorf("configs/schema.json: %w", err)
	}
	worlds, learners, rivals := kindsOf(c)
	for _, section := range []struct {
		key, name string
		kinds     []kind
	}{{"env", "id", worlds}, {"agent", "name", learners}, {"eval.rivals[]", "name", rivals}} {
		if err := rewrite(at(s, section.key), section.name, section.kinds); err != nil {
			return nil, err
		}
	}
	b, err := json.MarshalIndent(s, "", "  ")
	return append(b, '\n'), err
}

// rewrite makes s, a section that names one of several, one of kinds: as it is where the row is Stoker's own, anew for
// others.
func rewrite(s *jsonschema.Schema, key string, kinds []kind) error {
	have := map[string]*jsonschema.Schema{}
	for _, one := range s.OneOf {
		have[one.Title] = one
	}
	fresh := &jsonschema.Schema{}
	m := &maker{comments: map[string]string{}}
	for _, k := range kinds {
		if err := sourceComments(k, m.comments); err != nil {
			return fmt.Errorf("%s: Source: %w", k.name, err)
		}
	}
	m.choice(fresh, key, kinds)
	if m.err != nil {
		return m.err
	}
	for i, k := range kinds {
		if one, ok := have[k.name]; ok && shipped(reflect.TypeOf(k.config)) {
			fresh.OneOf[1+i] = one
		}
	}
	s.OneOf = fresh.OneOf
	return nil
}

// shipped reports whether a configuration's type comes with Stoker.
func shipped(config reflect.Type) bool {
	return strings.HasPrefix(packageOf(config), module+"/")
}

func packageOf(config reflect.Type) string {
	for config.Kind() == reflect.Pointer {
		config = config.Elem()
	}
	return config.PkgPath()
}

// sourceComments adds the comments in the source of a row's package.
func sourceComments(k kind, out map[string]string) error {
	if k.source == nil {
		return nil
	}
	files, err := fs.Glob(k.source, "*.go")
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	if len(files) == 0 {
		return fmt.Errorf("it has no Go files; want those of package %s, as in //go:embed *.go",
			packageOf(reflect.TypeOf(k.config)))
	}
	return fileComments(k.source, files, packageOf(reflect.TypeOf(k.config)), out)
}
