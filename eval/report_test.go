package eval

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/shell"
)

// The page has the verdicts, their scope, every number with its unit, every figure, and the way to all of it again;
// nothing of it lies elsewhere, and every file that it links to is there.
func TestReport(t *testing.T) {
	dir, _, s := written(t)
	b := must.Get(os.ReadFile(filepath.Join(dir, ReportFile)))(t)
	page := string(b)
	for _, want := range []string{
		"<title>Evaluation in stoker/Synthetic-v1</title>", "20 workload seeds (test)",
		"The verdicts hold for <b>the method, over 3 training seeds</b>.",
		`against <b>fixed</b>: <span class="better">better</span> (better by cost, violated kept at least as well`,
		`<span class="worse">worse</span> (worse by cost`, `by single metrics: better by cost`,
		"<p class=\"lead\">" + s.Summary + ".", "By cost, where violated is kept at least as well (relative tolerance 0.1).",
		"undecided: ",
		`violated ↓<span class="unit">share of windows</span>`, "stoker eval runs/attmf", "stoker plot .",
		"&#34;path&#34;: &#34;synthetic&#34;", `href="eval.json"`, `href="scores.csv"`, "p = 0.0", s.Statistic[:30],
		`name="viewport"`, "@media print",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, m := range s.Metrics {
		if !strings.Contains(page, m.Name) {
			t.Errorf("the page has no metric %s", m.Name)
		}
	}
	images := regexp.MustCompile(`src="data:image/svg&#43;xml;base64,([^"]*)"|src="data:image/svg\+xml;base64,([^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(images) != len(s.Figures)/3 { // each as PNG, SVG and PDF
		t.Errorf("%d figures, want %d", len(images), len(s.Figures)/3)
	}
	for i, m := range images {
		code := strings.ReplaceAll(m[1]+m[2], "&#43;", "+")
		if svg, err := base64.StdEncoding.DecodeString(code); err != nil || !strings.Contains(string(svg), "<svg") {
			t.Errorf("figure %d is no SVG: %v", i, err)
		}
	}
	for _, m := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		link := m[1]
		if strings.HasPrefix(link, "data:") {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, link)); err != nil {
			t.Errorf("the page links to %s: %v", link, err)
		}
	}
	if strings.Contains(page, "http:") || strings.Contains(page, "https:") || strings.Contains(page, "ZgotmplZ") {
		t.Error("the page needs something from elsewhere, or something in it was refused")
	}
}

// Few workloads are said to be too few; names are shown, not run.
func TestReportSmall(t *testing.T) {
	p, s, _ := small(t)
	s.Policies[0].Name = "<script>alert(1)</script>"
	s.EnvConfig = map[string]any{"b": 1, "a": uint64(1)<<63 + 1}
	dir := filepath.Join(t.TempDir(), "eval")
	must.Do(t, Write(dir, p, s, nil))
	b := must.Get(os.ReadFile(filepath.Join(dir, ReportFile)))(t)
	page := string(b)
	if strings.Contains(page, "<script>") || !strings.Contains(page, "too few workload seeds for any verdict: 3") ||
		!strings.Contains(page, "&#34;a&#34;: 9223372036854775809,\n  &#34;b&#34;: 1") {
		t.Errorf("the page is %s", page)
	}
	s.EnvConfig = func() {}
	if err := writeReport(dir, s); err == nil || !strings.Contains(err.Error(), "environment: json: unsupported type") {
		t.Errorf("a configuration that is no data: %v", err)
	}
	must.Do(t, os.Remove(filepath.Join(dir, "intervals.svg")))
	if err := writeReport(dir, s); err == nil || !strings.Contains(err.Error(), "intervals.svg") {
		t.Errorf("a figure that is gone: %v", err)
	}
}

func TestCommandLine(t *testing.T) {
	if got, want := shell.Line([]string{
		"stoker", "eval", "runs/a b", "--set", "x=[1]", "it's",
	}), `stoker eval 'runs/a b' --set 'x=[1]' 'it'\''s'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
