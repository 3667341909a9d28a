package suite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
)

// Names of the files of a result's folder.
const (
	ResultFile = "suite.json"
	PageFile   = "suite.md"
	rowsFile   = "rows.csv"
	// markFile stands in the folder while it is being written: what a crash leaves can be written again.
	markFile = durable.TempPrefix + "suite"
)

// dpi is the resolution of figures: sharp at the width of a README's column on a dense screen.
const dpi = 130

// Result is suite.json.
type Result struct {
	Suite string `json:"suite"`
	Doc   string `json:"doc"`
	Paper string `json:"paper"`
	Quick bool   `json:"quick"`
	// Seeds are the workload seeds that all policies faced.
	Seeds []uint64 `json:"seeds"`
	// Command makes the result again.
	Command  string `json:"command"`
	Version  string `json:"version"`
	Revision string `json:"revision"`

	Rows        []Row        `json:"rows"`
	Claims      []Claim      `json:"claims"`
	Comparisons []Comparison `json:"comparisons"`
	Notes       []string     `json:"notes"`
	// Tables and Figures are files, relative to the folder. Beside each figure lie its PDF and its
	// data as CSV, under the same name.
	Tables  []string `json:"tables"`
	Figures []string `json:"figures"`
}

// files are all that the result left.
func (r *Result) files() []string {
	out := []string{PageFile, rowsFile}
	out = append(out, r.Tables...)
	for _, f := range r.Figures {
		name := strings.TrimSuffix(f, filepath.Ext(f))
		out = append(out, f, name+".pdf", name+".csv")
	}
	return out
}

// Free reports whether a suite's result can be written to dir: it is missing, empty, or holds an earlier result of
// that suite. What else lies beside such a result is left alone.
func Free(dir, name string) error {
	list, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return Usage("the folder of the result: %w", err)
	case len(list) == 0:
		return nil
	}
	if mark, err := os.ReadFile(filepath.Join(dir, markFile)); err == nil && string(mark) == name {
		return nil
	}
	old, err := Read(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Usage("%s holds other things than a suite's result: name another folder, or an empty one", dir)
	case err != nil:
		return Usage("%w; name another folder", err)
	case old.Suite != name:
		return Usage("%s holds the result of suite %s, not of %s: name another folder", dir, old.Suite, name)
	}
	return nil
}

// Read reads a result's suite.json.
func Read(dir string) (*Result, error) {
	path := filepath.Join(dir, ResultFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r Result
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("%s is not a suite's result: %w", path, err)
	}
	if r.Suite == "" {
		return nil, fmt.Errorf("%s is not a suite's result: it names no suite", path)
	}
	return &r, nil
}

// write makes all files in memory, then writes each in one step, suite.json last. Files that only an earlier result had
// are removed.
func write(dir string, r *Report, res *Result) error {
	files := map[string][]byte{PageFile: []byte(Markdown(res, r.tables, r.figures))}
	all := append([]report.Table{rowTable(res.Rows)}, r.tables...)
	for _, f := range r.figures {
		var image, page bytes.Buffer
		if err := f.Chart.CompactPNG(&image, dpi); err != nil {
			return fmt.Errorf("%s.png: %w", f.Name, err)
		}
		if err := f.Chart.PDF(&page); err != nil {
			return fmt.Errorf("%s.pdf: %w", f.Name, err)
		}
		files[f.Name+".png"], files[f.Name+".pdf"] = image.Bytes(), page.Bytes()
		all = append(all, f.Data())
	}
	for _, t := range all {
		b, err := t.CSV()
		if err != nil {
			return fmt.Errorf("%s.csv: %w", t.Name, err)
		}
		files[t.Name+".csv"] = b
	}
	text, err := report.JSON(res)
	if err != nil {
		return fmt.Errorf("%s: %w", ResultFile, err)
	}
	return replace(dir, res, files, text)
}

// replace puts the files in the place of an earlier result.
func replace(dir string, res *Result, files map[string][]byte, text []byte) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	stale := []string{ResultFile}
	if old, err := Read(dir); err == nil {
		for _, f := range old.files() {
			if _, kept := files[f]; !kept && filepath.Base(f) == f {
				stale = append(stale, f)
			}
		}
	}
	put := func(name string, b []byte) error { return durable.WriteFile(durable.OS{}, filepath.Join(dir, name), b) }
	if err := put(markFile, []byte(res.Suite)); err != nil {
		return err
	}
	for _, f := range stale {
		if err := os.Remove(filepath.Join(dir, f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, name := range res.files() {
		if err := put(name, files[name]); err != nil {
			return err
		}
	}
	if err := put(ResultFile, text); err != nil {
		return err
	}
	return os.Remove(filepath.Join(dir, markFile))
}

// rowTable is the rows as a table.
func rowTable(rows []Row) report.Table {
	t := report.Table{Name: "rows", Columns: report.Head("figure", "quantity", "unit", "paper", "ours", "ratio", "note")}
	for i := range rows {
		r := &rows[i]
		paper := any("")
		if r.Paper != nil {
			paper = *r.Paper
		}
		t.Rows = append(t.Rows, []any{r.Figure, r.Quantity, r.Unit, paper, r.estimate(), float64(r.Ratio), r.Note})
	}
	return t
}

// Text is a result for a terminal: the rows, verdicts against baselines, what became of the paper's claims, and notes.
func Text(res *Result) string {
	var b strings.Builder
	quick := ""
	if res.Quick {
		quick = ", quick"
	}
	fmt.Fprintf(&b, "%s: %s; workload seeds %s%s\n\n", res.Suite, res.Doc, ranges(res.Seeds), quick)
	b.WriteString(report.Columns(res.rowTexts(), false))
	if rows := res.verdictLines(); len(rows) > 0 {
		b.WriteString("\n" + report.Columns(append([][]string{{"setting", "metric", "verdicts"}}, rows...), false))
	}
	for _, c := range res.Claims {
		fmt.Fprintf(&b, "\nthe paper  %s\nhere       %s\nso it      %s\n", c.Claim, c.Found, c.Verdict)
	}
	if len(res.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, n := range res.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}

// verdictLines are the verdicts in words, a line for each setting, metric and policy.
func (res *Result) verdictLines() [][]string {
	var out [][]string
	for i := 0; i < len(res.Comparisons); {
		first, by := res.Comparisons[i], map[string][]string{}
		for ; i < len(res.Comparisons); i++ {
			c := &res.Comparisons[i]
			if c.Setting != first.Setting || c.Metric != first.Metric || c.A != first.A {
				break
			}
			by[c.Verdict] = append(by[c.Verdict], c.B)
		}
		out = append(out, []string{first.Setting, first.Metric,
			first.A + " is " + eval.ByVerdict(by, "better than ", "worse than ", "undecided against ")})
	}
	return out
}

// Markdown is suite.md: a page that shows everything.
func Markdown(res *Result, tables []report.Table, figures []report.Figure) string {
	var b strings.Builder
	_, first := utf8.DecodeRuneInString(res.Doc)
	fmt.Fprintf(&b, "# %s\n\n%s. The paper: %s.\n\n", res.Suite, strings.ToUpper(res.Doc[:first])+res.Doc[first:], res.Paper)
	fmt.Fprintf(&b, "`%s` makes this page, its tables and its figures again (revision %s).\n", res.Command, res.Revision)
	if res.Quick {
		b.WriteString("This is a quick run: fewer seeds than the full one has, and less of what takes long.\n")
	}
	fmt.Fprintf(&b, "\nValues are interquartile means over %d workload seeds with 95 %% bootstrap intervals; "+
		"differences are means of paired differences.\n", len(res.Seeds))
	if len(res.Claims) > 0 {
		b.WriteString("\n## What the paper says, and what was found\n\n")
		rows := [][]string{{"the paper", "here", "verdict"}}
		for _, c := range res.Claims {
			rows = append(rows, []string{c.Claim, c.Found, "**" + c.Verdict + "**"})
		}
		report.Markdown(&b, rows)
	}
	for _, n := range res.Notes {
		fmt.Fprintf(&b, "\n- %s", n)
	}
	if len(res.Notes) > 0 {
		b.WriteString("\n")
	}
	if len(res.Rows) > 0 {
		b.WriteString("\n## The figures' numbers\n\n")
		report.Markdown(&b, res.rowTexts())
	}
	for _, f := range figures {
		fmt.Fprintf(&b, "\n![%s](%s.png)\n\n%s Data: [%s.csv](%s.csv).\n",
			strings.ReplaceAll(f.Name, "_", " "), f.Name, f.Caption, f.Name, f.Name)
	}
	for i := range tables {
		t := &tables[i]
		fmt.Fprintf(&b, "\n## %s\n\n", t.Title)
		t.Markdown(&b)
		if t.Note != "" {
			fmt.Fprintf(&b, "\n%s\n", t.Note)
		}
		fmt.Fprintf(&b, "\nData: [%s.csv](%s.csv).\n", t.Name, t.Name)
	}
	res.verdicts(&b)
	return b.String()
}

// rowTexts are the rows for people; columns that are empty throughout are left out.
func (res *Result) rowTexts() [][]string {
	out := [][]string{{"figure", "quantity", "unit", "paper", "ours (95 %)", "ratio", "note"}}
	for i := range res.Rows {
		r := &res.Rows[i]
		paper, ratio := "", ""
		if r.Paper != nil {
			paper = report.Plain(*r.Paper)
		}
		if report.Finite(float64(r.Ratio)) {
			ratio = report.Round(float64(r.Ratio), -2)
		}
		out = append(out, []string{r.Figure, r.Quantity, r.Unit, paper, r.estimate().String(), ratio, r.Note})
	}
	for k := len(out[0]) - 1; k >= 0; k-- {
		if !slices.ContainsFunc(out[1:], func(row []string) bool { return row[k] != "" }) {
			for i := range out {
				out[i] = slices.Delete(out[i], k, k+1)
			}
		}
	}
	return out
}

// verdicts writes the comparisons.
func (res *Result) verdicts(b *strings.Builder) {
	if len(res.Comparisons) == 0 {
		return
	}
	b.WriteString("\n## Verdicts\n\nMean difference a − b under the same workload (95 %), " +
		"p after Holm's correction over the baselines of a setting, and what a is.\n\n")
	rows := [][]string{{"setting", "metric", "a", "b", "difference", "p (Holm)", "a is"}}
	for i := range res.Comparisons {
		c := &res.Comparisons[i]
		word := c.Verdict
		if word != eval.Undecided {
			word = "**" + word + "**"
		}
		p := strings.Replace(report.PValue(float64(c.PHolm)), "<", "< ", 1)
		rows = append(rows, []string{c.Setting, c.Metric, c.A, c.B, c.Interval().String(), p, word})
	}
	report.Markdown(b, rows)
}
