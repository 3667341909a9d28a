package eval

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/internal/words"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/internal/shell"
)

// ReportFile is the evaluation as one page for people: nothing of it lies elsewhere but the data that it links to.
const ReportFile = "report.html"

//go:embed report.html
var reportText string

// report is what the page shows.
type page struct {
	*Summary
	Title, Heading string
	Criteria       string
	Verdicts       []reportVerdicts
	Notes          []string
	Estimates      [][]reportCell // a row per metric, the first cell names it
	Policies       []string
	Lead           *reportFigure // stands first
	Equal          [][]string    // the objective at equal violations
	EqualTitle     string
	Figures        []reportFigure
	Data           []reportFile
	Command        string
	Settings       []reportSetting
}

// reportVerdicts are those on one policy.
type reportVerdicts struct {
	Policy    string
	Scopes    []scoped
	Lines     []reportLine
	Baselines []string
	Rows      [][]reportCell
}

// reportLine is the verdicts against one baseline in words.
type reportLine struct {
	Baseline     string
	Verdict, Why string
	// Single are the verdicts by single metrics.
	Single string
}

// reportCell is a number with its interval, or a metric's name.
type reportCell struct {
	Text, Range, Unit, Doc string
	IQM                    string
	P, Chance, Verdict     string
}

type reportFigure struct {
	name           string
	Title, Caption string
	Image          template.URL
	Files          []reportFile
}

type reportFile struct{ Name, What string }

type reportSetting struct{ Name, Text string }

// writeReport writes the page from a summary and the figures in dir.
func writeReport(dir string, s *Summary) error {
	r, err := newReport(dir, s)
	if err != nil {
		return err
	}
	t, err := template.New(ReportFile).Parse(reportText)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, r); err != nil {
		return fmt.Errorf("%s: %w", ReportFile, err)
	}
	return durable.WriteFile(durable.OS{}, filepath.Join(dir, ReportFile), b.Bytes())
}

func newReport(dir string, s *Summary) (*page, error) {
	r := &page{Summary: s, Title: "Evaluation in " + s.Env, Heading: s.heading(), Policies: s.names(), Criteria: s.criteria(),
		Notes: s.reportNotes(), Command: shell.Line(s.Command)}
	for _, m := range s.Metrics {
		l := s.lines("", m)
		row := []reportCell{l.head(m)}
		for i, e := range l.estimates {
			c := split(l.write, e)
			c.IQM = l.write.Number(float64(s.Policies[i].Metrics[m.Name].IQM))
			row = append(row, c)
		}
		r.Estimates = append(r.Estimates, row)
	}
	for _, a := range s.compared() {
		r.Verdicts = append(r.Verdicts, s.reportVerdicts(a))
	}
	if err := r.draw(dir); err != nil {
		return nil, err
	}
	for _, name := range []string{frontierName, "scatter"} {
		if i := slices.IndexFunc(r.Figures, func(f reportFigure) bool { return f.name == name }); i >= 0 && r.Lead == nil {
			r.Lead, r.Figures = new(r.Figures[i]), slices.Delete(r.Figures, i, i+1)
		}
	}
	if r.Equal = s.frontierRows(); len(r.Equal) > 0 {
		r.EqualTitle = s.frontierTitle()
	}
	for _, f := range dataFiles {
		if _, err := os.Stat(filepath.Join(dir, f.Name)); err == nil || f.Name == SummaryFile { // eval.json is written last
			r.Data = append(r.Data, f)
		}
	}
	var err error
	r.Settings, err = s.settings()
	return r, err
}

var dataFiles = []reportFile{
	{SummaryFile, "estimates, comparisons and verdicts, for programs"},
	{ScoresFile, "every score: policy, training seed, workload seed, metric, value"},
	{stepsFile, "every step of the first workload seeds"},
	{samplesFile, "quantiles of what the environment samples"},
	{TableFile, "the tables of this page as Markdown"},
}

func (l *lines) head(m Metric) reportCell {
	unit := l.write.Unit(m.Unit)
	if unit == m.Name {
		unit = ""
	}
	return reportCell{Text: strings.TrimSpace(m.Name + " " + arrow(m.Better)), Unit: unit, Doc: m.Doc}
}

// split writes a number and its interval into two fields.
func split(f report.Format, v shown) reportCell {
	c := reportCell{Text: f.Number(v.At)}
	if report.Finite(v.At) {
		c.Range = v.ends(f)
	}
	return c
}

func (s *Summary) reportVerdicts(a string) reportVerdicts {
	v := reportVerdicts{Policy: a, Scopes: s.scopes(a)}
	for _, c := range s.against(a, s.Metrics[0].Name) {
		v.Baselines = append(v.Baselines, c.B)
		on := s.verdictOn(a, c.B)
		v.Lines = append(v.Lines, reportLine{Baseline: c.B, Verdict: on.Verdict, Why: on.Why, Single: s.conclusion(a, c.B)})
	}
	for _, m := range s.Metrics {
		l := s.lines(a, m)
		row := []reportCell{l.head(m)}
		for i := range l.diff {
			d := &l.diff[i]
			c := split(l.writeDiffs, l.diffs[i])
			c.P, c.Chance, c.Verdict = equal(report.PValue(float64(d.PHolm))), report.Probability(float64(d.Improvement)),
				d.Verdict
			if m.Better == envs.Neither {
				c.Verdict = ""
			}
			row = append(row, c)
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}

// reportNotes are what a reader has to know of the numbers.
func (s *Summary) reportNotes() []string {
	out := append(s.shortfalls(), s.elsewhere()...)
	if r := s.rangesNote(); r != "" {
		out = append(out, r)
	}
	return out
}

// captions say what a figure shows, by the beginning of its name.
var captions = []struct{ prefix, title, text string }{
	{frontierName, "The frontier", "What each policy costs over how often it violates: a point for every setting of its " +
		"dial, with 95 % intervals, and a line between those that no other setting beats. Below and to the left is better."},
	{"learning_curve", "Learning curve", "Over training: the mean over the runs of a method, and the range from the " +
		"lowest to the highest of them. Its points are of training's own evaluations, on other seeds than the tables, " +
		"and of a trace on the part that training sees."},
	{"scatter", "Two metrics at once", "Each policy's means as a point with 95 % intervals, or with small points and the " +
		"range of its training seeds where there are fewer than four."},
	{"intervals", "Estimates", "The mean of every metric by policy, with 95 % intervals, or with small points and the " +
		"range of its training seeds where there are fewer than four."},
	{"improvement", "Probability of improvement",
		"How probable it is that a run of the one does better than the other under the same workload; at ½ they are even."},
	{"profile", "Performance profiles", "The share of episodes that do better than a threshold: the whole " +
		"distribution, not its mean alone. Bands are pointwise 95 % percentile intervals, or the range over training seeds " +
		"where there are two or three."},
	{"over_time", "One episode", "Quantities through the first traced episode."},
}

// draw embeds the SVG figures as separate images, so that identifiers of one cannot clash with another's.
func (r *page) draw(dir string) error {
	for _, f := range r.Summary.Figures {
		if filepath.Ext(f) != ".svg" || filepath.Base(f) != f {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(f, ".svg")
		fig := reportFigure{name: name, Title: strings.ReplaceAll(name, "_", " "),
			Caption: "How a quantity that the environment samples is distributed, and its tail.",
			Image:   template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(b)),
			//nolint:gosec // what we drew ourselves
			Files: []reportFile{{Name: name + ".png", What: "PNG"}, {Name: f, What: "SVG"}, {Name: name + ".pdf", What: "PDF"}}}
		for _, c := range captions {
			if strings.HasPrefix(name, c.prefix) {
				fig.Title, fig.Caption = c.title, c.text
				break
			}
		}
		data := name + ".csv"
		switch {
		case strings.HasSuffix(name, "_cdf"):
			fig.Title, data = "Distribution of "+words.Of(strings.TrimSuffix(name, "_cdf")), samplesFile
		case name == frontierName:
			data = frontierPointsFile
			fig.Files = append(fig.Files, reportFile{Name: frontierLevelsFile, What: "at equal violations as CSV"})
		case name == "over_time":
			data = stepsFile
		case strings.HasPrefix(name, "improvement"):
			data = "improvement.csv"
		}
		fig.Files = append(fig.Files, reportFile{Name: data, What: "data as CSV"})
		r.Figures = append(r.Figures, fig)
	}
	return nil
}

// settings are the configurations as text, their keys sorted.
func (s *Summary) settings() ([]reportSetting, error) {
	var out []reportSetting
	for _, c := range []struct {
		name  string
		value any
	}{{"Environment", s.EnvConfig}, {"Workload", s.Workload}} {
		if c.value == nil {
			continue
		}
		sorted, err := configKeys(c.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.ToLower(c.name), err)
		}
		text, err := json.MarshalIndent(sorted, "", "  ")
		if err != nil {
			return nil, err
		}
		out = append(out, reportSetting{c.name, string(text)})
	}
	return out, nil
}
