package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/invopop/jsonschema"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/internal/must"
)

// The reference's introduction is written by hand, up to this line; what follows is made from the schema.
const (
	reference = "../../docs/configuration.md"
	marker    = "<!-- From here on the page is made: go test ./catalog/... -update -->\n"
)

// TestReference: the page that lists all keys says what the schema says.
func TestReference(t *testing.T) {
	text := must.Get(Generate("../..", catalog.Default()))(t)
	tables := must.Get(Reference(text))(t)
	page := must.Get(os.ReadFile(reference))(t)
	intro, _, ok := bytes.Cut(page, []byte(marker))
	if !ok {
		t.Fatalf("%s lacks the line %q", reference, marker)
	}
	want := string(intro) + marker + string(tables)
	if *update {
		must.Do(t, os.WriteFile(reference, []byte(want), 0o666))
	} else if string(page) != want {
		t.Errorf("%s is older than the schema: go test ./catalog/... -update", reference)
	}
}

// A small schema shows each kind of row.
func TestReferenceRows(t *testing.T) {
	got := must.Get(Reference([]byte(`{"properties": {
		"name": {"type": "string", "description": "Name begins the names of runs."},
		"env": {"oneOf": [{"type": "string", "enum": ["a/B-v1"]}, {"title": "a/B-v1", "description": "an example", "properties": {
			"id": {"const": "a/B-v1"},
			"log_every": {"type": "integer", "minimum": 1, "description": "LogEvery is the steps between two lines.", "default": 10},
			"share": {"type": "number", "exclusiveMinimum": 0, "maximum": 1, "description": "Share of a|b."},
			"rows": {"type": "integer", "minimum": 1, "maximum": 1.125899906842624e+15, "description": "Rows is λ."},
			"rate": {"type": "number", "minimum": 0, "maximum": 1e9, "description": "Rate is Adam's; see LogEvery and Share."},
			"low": {"type": "number", "description": "Low and High are its bounds."},
			"high": {"type": "number", "description": "Low and High are its bounds."},
			"mode": {"type": "string", "enum": ["fast", ""], "default": "fast"},
			"sizes": {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 9}, "default": [1, 2]},
			"parts": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "boolean"}}}}
		}}]},
		"train": {"type": "object", "description": "Train is the training.", "properties": {"steps": {"type": "integer"}}}
	}}`)))(t)
	for _, want := range []string{
		"| `name` | string |  | Name begins the names of runs. |",
		"## `train`\n\nThe training.\n",
		"### `a/B-v1`\n\nAn example.\n",
		"| `log_every` | integer, ≥ 1 | `10` | The steps between two lines. |",
		"| `share` | number, > 0, ≤ 1 |  | Share of a\\|b. |",
		"| `rows` | integer, 1 to 2^50 |  | λ. |", "| `rate` | number, 0 to 1e9 |  | Adam's; see `log_every` and Share. |",
		"| `high` | number |  | `low` and `high` are its bounds. |",
		"| `mode` | `fast`, `\"\"` | `fast` |  |",
		"| `sizes` | list of: integer, 1 to 9 | `[1, 2]` |  |",
		"| `parts[].x` | boolean |  |  |",
		"[`a/B-v1`](#ab-v1)",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the reference lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(string(got), "`id`") {
		t.Error("the key that names the choice has a row of its own")
	}
	if _, err := Reference([]byte("{")); err == nil {
		t.Error("a schema that ends too early is no error")
	}
}

// Reference returns the tables of docs/configuration.md: every key of a configuration with its type, bounds, default
// and meaning. They are made from the schema that Generate returns.
func Reference(text []byte) ([]byte, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	var b bytes.Buffer
	contents(&b, &s)

	top := &jsonschema.Schema{Properties: jsonschema.NewProperties()}
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		if p.Value.Properties == nil && len(p.Value.OneOf) == 0 {
			top.Properties.Set(p.Key, p.Value)
		}
	}
	b.WriteString("\n## At the top\n\n")
	table(&b, top)
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		if p.Value.Properties == nil {
			continue
		}
		fmt.Fprintf(&b, "\n## `%s`\n\n%s\n\n", p.Key, escape(meaning(p.Key, p.Value, &s)))
		table(&b, p.Value)
	}
	for _, c := range sections {
		fmt.Fprintf(&b, "\n## %s\n", c.title)
		for _, one := range choices(&s, c.at) {
			fmt.Fprintf(&b, "\n### `%s`\n\n%s.\n\n", one.Title, escape(capital(one.Description)))
			one.Properties.Delete(c.choice)
			if one.Properties.Len() == 0 {
				b.WriteString("It has no keys.\n")
				continue
			}
			table(&b, one)
		}
	}
	return b.Bytes(), nil
}

// contents lists the sections with links.
func contents(b *bytes.Buffer, s *jsonschema.Schema) {
	b.WriteString("\n| section | keys of |\n|---|---|\n")
	var plain []string
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		if p.Value.Properties != nil {
			plain = append(plain, fmt.Sprintf("[`%s`](#%s)", p.Key, anchor(p.Key)))
		}
	}
	fmt.Fprintf(b, "| the experiment | [at the top](#at-the-top), %s |\n", strings.Join(plain, ", "))
	for _, c := range sections {
		var names []string
		for _, one := range choices(s, c.at) {
			names = append(names, fmt.Sprintf("[`%s`](#%s)", one.Title, anchor(one.Title)))
		}
		fmt.Fprintf(b, "| `%s` | %s |\n", strings.TrimSuffix(c.key, "[]"), strings.Join(names, ", "))
	}
}

// anchor is the fragment that GitHub gives to a heading.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, heading)
}

// table writes a row for each key of a section, those of sections within it under dotted names.
func table(b *bytes.Buffer, s *jsonschema.Schema) {
	b.WriteString("| key | type and bounds | default | meaning |\n|---|---|---|---|\n")
	rows(b, "", s)
}

func rows(b *bytes.Buffer, prefix string, s *jsonschema.Schema) {
	walk(prefix, s, func(path, key string, s, section *jsonschema.Schema) {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", path, kindOf(s), defaultOf(s), escape(meaning(key, s, section)))
	})
}

func defaultOf(s *jsonschema.Schema) string {
	if s.Default == nil {
		return ""
	}
	text, err := json.Marshal(s.Default)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("`%s`", strings.ReplaceAll(strings.Trim(string(text), `"`), ",", ", "))
}

// escape keeps a text within its cell of a table.
func escape(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ", "*", `\*`).Replace(s)
}
