package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/proof"
)

// byHand are the files of a result's folder that people write.
var byHand = []string{"README.md", proof.ShortFile}

// keep copies the files that a proof's row keeps from one folder to another, and removes those kept there before.
func keep(p proof.Proof, from, to string) error {
	files, err := matching(from, append([]string{proof.ClaimsFile}, p.Keep...))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	old, err := matching(to, []string{"*", "*/*"})
	if err != nil {
		return err
	}
	for _, name := range old {
		if !slices.Contains(byHand, name) {
			if err := os.Remove(filepath.Join(to, name)); err != nil {
				return err
			}
		}
	}
	for _, name := range files {
		b, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		switch path.Ext(name) {
		case ".md":
			b = dropLinks(b, path.Dir(name), files)
		case ".png":
			if b, err = chart.CompactPNG(b); err != nil {
				return fmt.Errorf("%s: %w", filepath.Join(from, name), err)
			}
		}
		if err := os.MkdirAll(filepath.Join(to, path.Dir(name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// matching lists the files below a folder that match one of the patterns, sorted, with slashes.
func matching(dir string, patterns []string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		for _, p := range patterns {
			ok, err := path.Match(p, name)
			if err != nil {
				return err
			}
			if ok {
				names = append(names, name)
				break
			}
		}
		return nil
	})
	return names, err
}

var link = regexp.MustCompile(`\]\(([^):#]+)\)`)

// dropLinks removes the lines of a page that show or link files beside it which are not kept.
func dropLinks(page []byte, dir string, kept []string) []byte {
	var out []string
	for _, line := range strings.SplitAfter(string(page), "\n") {
		ok := true
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			ok = ok && (strings.HasPrefix(m[1], "..") || slices.Contains(kept, path.Join(dir, m[1])))
		}
		if ok {
			out = append(out, line)
		}
	}
	return []byte(strings.Join(out, ""))
}
