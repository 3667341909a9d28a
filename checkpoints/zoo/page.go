package zoo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Page returns the card as Markdown, the content of CARD.md.
func (c *Card) Page() ([]byte, error) {
	var b bytes.Buffer
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("# %s\n\n%s\n", c.Name, c.About)
	p("Use it as `%s%s` wherever a checkpoint may stand: `stoker eval %s%s --out compare/%s`, for example. "+
		"This page is made by `stoker zoo card`.\n", Prefix, c.Name, Prefix, c.Name, c.Name)
	p("| | |\n|---|---|")
	p("| environment | `%s` |", c.Env)
	p("| learner | %s, experiment %s |", c.Agent, c.Experiment)
	p("| training seeds | %s; this policy is of seed %d, %s |", list(c.Seeds), c.Seed, chosen(len(c.Seeds)))
	p("| steps | %s of the %s of its run |", thousands(c.Steps), thousands(c.Planned))
	p("| made by | %s, engine %s, kernels %s |", c.CreatedBy, c.Engine, c.Kernels)
	p("| size | %s bytes |", thousands(c.Bytes))
	p("| sha256 | `%s` (of MANIFEST.sha256, which has those of all files) |", c.ID)
	p("\nMade anew by:\n\n```sh")
	for _, line := range c.Remake {
		p("%s", line)
	}
	p("```")
	for i := range c.Evaluations {
		if err := c.Evaluations[i].page(&b, c.Config); err != nil {
			return nil, err
		}
	}
	p("\n## Files\n\n| file | bytes | sha256 |\n|---|---|---|")
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		p("| %s | %s | `%s` |", name, thousands(c.Files[name].Bytes), c.Files[name].SHA256)
	}
	var config bytes.Buffer
	if err := json.Indent(&config, c.Config, "", "  "); err != nil {
		return nil, fmt.Errorf("%s: config: %w", c.Name, err)
	}
	p("\n## Configuration\n\n```json\n%s\n```", config.String())
	return b.Bytes(), nil
}

// page writes the section of an evaluation.
func (e *Evaluation) page(b *bytes.Buffer, config json.RawMessage) error {
	p := func(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }
	other, err := e.differences(config)
	if err != nil {
		return err
	}
	p("\n## Evaluation: %s\n", other)
	seeds := 1
	for _, r := range e.Policies {
		if r.Name == e.Policy {
			seeds = max(len(r.TrainingSeeds), 1)
		}
	}
	who := "this policy alone"
	if seeds > 1 {
		who = fmt.Sprintf("this policy's method with %d training seeds", seeds)
	}
	p("%d workload seeds (%s), split %s. `%s` is %s. The statistic: %s.\n", len(e.Seeds), list(e.Seeds), e.Split, e.Policy,
		who, e.Statistic)
	head, rule := "| policy |", "|---|"
	for _, m := range e.Metrics {
		head += fmt.Sprintf(" %s, %s%s |", m.Name, m.Unit, arrow(m.Better))
		rule += "---|"
	}
	p("%s\n%s", strings.ReplaceAll(head, ", |", " |"), rule)
	for _, r := range e.Policies {
		row := "| " + r.Name + " |"
		for _, m := range e.Metrics {
			row += fmt.Sprintf(" %s |", r.Metrics[m.Name])
		}
		p("%s", row)
	}
	p("\nPaired differences, where one direction is better:\n\n" +
		"| | metric | difference | simultaneous 95 %% interval | p (Holm) | verdict | of |\n|---|---|---|---|---|---|---|")
	for _, c := range e.Comparisons {
		if !slices.ContainsFunc(e.Metrics, func(m Metric) bool { return m.Name == c.Metric && arrow(m.Better) != "" }) {
			continue
		}
		p("| %s − %s | %s | %s | [%s, %s] | %s | **%s** | %s |", c.A, c.B, c.Metric, number(c.Difference), number(c.Lo),
			number(c.Hi), number(c.PHolm),
			c.Verdict, c.Scope)
	}
	return nil
}

// differences lists the settings of environment and workload in which the evaluation differs from the training's
// configuration.
func (e *Evaluation) differences(config json.RawMessage) (string, error) {
	var x struct{ Env, Workload any }
	if err := json.Unmarshal(config, &x); err != nil {
		return "", err
	}
	var out []string
	for _, s := range []struct {
		name string
		was  any
		now  json.RawMessage
	}{{"env", x.Env, e.EnvConfig}, {"workload", x.Workload, e.Workload}} {
		var now any
		if len(s.now) == 0 {
			continue
		}
		if err := json.Unmarshal(s.now, &now); err != nil {
			return "", err
		}
		differ(s.name, s.was, now, &out)
	}
	if len(out) == 0 {
		return "as trained", nil
	}
	return strings.Join(out, ", "), nil
}

// differ lists the keys of now that have another value in was.
func differ(at string, was, now any, out *[]string) {
	n, ok := now.(map[string]any)
	w, both := was.(map[string]any)
	if !ok || !both {
		a, b := text(was), text(now)
		if a != b && at != "workload.path" {
			*out = append(*out, at+" "+b)
		}
		return
	}
	for _, k := range slices.Sorted(maps.Keys(n)) {
		if _, there := w[k]; there {
			differ(at+"."+k, w[k], n[k], out)
		}
	}
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // impossible: v was decoded from JSON
		return fmt.Sprint(v)
	}
	if s := string(b); s != "null" && s != "[]" {
		return s
	}
	return ""
}

func arrow(better string) string {
	return map[string]string{"higher": " ↑", "lower": " ↓"}[better]
}

// number writes four significant digits, without an exponent where it needs none.
func number(x *float64) string {
	if x == nil {
		return "–"
	}
	if a := math.Abs(*x); a >= 1000 && a < 1e9 {
		return thousands(int64(math.Round(*x)))
	}
	return strings.Replace(strconv.FormatFloat(*x, 'g', 4, 64), "-", "−", 1)
}

// thousands writes a whole number with commas between groups of three digits.
func thousands(n int64) string {
	s, sign := strconv.FormatInt(n, 10), ""
	if n < 0 {
		s, sign = s[1:], "−"
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// list writes numbers, consecutive ones as ranges.
func list(all []uint64) string {
	var parts []string
	for i := 0; i < len(all); {
		j := i
		for j+1 < len(all) && all[j+1] == all[j]+1 {
			j++
		}
		switch {
		case j > i+1:
			parts = append(parts, fmt.Sprintf("%d–%d", all[i], all[j]))
		default:
			for k := i; k <= j; k++ {
				parts = append(parts, strconv.FormatUint(all[k], 10))
			}
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

// chosen says how a policy was chosen among those of n training seeds.
func chosen(n int) string {
	if n < 2 {
		return "the only one"
	}
	return "the best in 20 further episodes of the training environment, the same for all of them"
}
