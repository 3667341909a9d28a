package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/variants"
)

// ReadApp reads the application in a file, or where there is no such file the shipped one of that name (app4, or
// configs/variants/app4.yaml), and works it out.
func ReadApp(path string) (*variants.Model, error) {
	text, err := ReadFile(path)
	if info, e := os.Stat(path); e == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder, want an application's file", path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		a, unknown := variants.Preset(path)
		if unknown == nil {
			return a.Compile()
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), "configs/")
		if text, e := shipped.ReadFile(name); e == nil && slices.Contains(ShippedApps(), name) {
			return ParseApp(path, text)
		}
		return nil, fmt.Errorf("%w; applications by name: %s", err, strings.Join(variants.Presets(), ", "))
	}
	if err != nil {
		return nil, err
	}
	return ParseApp(path, text)
}

// ParseApp is [ReadApp] for a text already read. Source names it in errors; the application's other files are found
// from its folder.
func ParseApp(source string, text []byte) (*variants.Model, error) {
	r := reader{lines: map[string]int{}}
	var a variants.App
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("%s: the file is empty, want an application: name, workflow and functions", source)
	}
	root := r.document(text)
	switch {
	case root == nil:
	case value(root, "env") != nil && value(root, "functions") == nil:
		return nil, fmt.Errorf("%s is an experiment, want an application's file, with workflow and functions", source)
	case r.examine(root, reflect.TypeFor[variants.App](), ""):
		if err := root.Load(&a); err != nil {
			r.problems = append(r.problems, problems(err)...)
		}
	}
	if len(r.problems) > 0 {
		return nil, &Error{source, r.problems}
	}
	dir := filepath.Dir(source)
	within(dir, &a.Profiles)
	for i := range a.Functions {
		for j := range a.Functions[i].Variants {
			within(dir, &a.Functions[i].Variants[j].Profiles)
		}
	}
	m, err := a.Compile()
	var e *bounds.Error
	if errors.As(err, &e) {
		return nil, &Error{source, []Problem{{r.lineOf(e.Key), e.Error()}}}
	}
	return m, err
}

// within makes a file's path, where it is relative, one from a folder.
func within(dir string, file *string) {
	if *file != "" && !filepath.IsAbs(*file) {
		*file = filepath.Join(dir, *file)
	}
}

// lineOf returns the line of a key, or of the nearest key around it that stands in the file.
func (r *reader) lineOf(key string) int {
	for key != "" {
		if line := r.lines[key]; line > 0 {
			return line
		}
		key = key[:max(0, strings.LastIndexAny(key, ".["))]
	}
	return 0
}

// DumpApp writes an application as its file.
func DumpApp(m *variants.Model) ([]byte, error) { return yaml.Dump(m.App, yaml.WithIndent(2)) }
