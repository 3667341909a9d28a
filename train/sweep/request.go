package sweep

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// Request is what a sweep's file, or a command line, says. What is left out is empty or 0.
type Request struct {
	Config, Name, Seeds, Metric string
	Set                         []string
	Grid                        []Axis
	Random                      []Range
	Trials                      int
	Seed                        uint64
	// Study has the keys of a study that are given.
	Study Study
}

// FileKeys are the keys of a sweep's file, with what they hold.
const FileKeys = `config: configs/classic/lqr.yaml      # a path, or a shipped configuration
set: {train.steps: 20000}             # the same for all arms
grid:                                 # every combination of these values
  agent.actor_rate: [1e-4, 3e-4]
  agent.hidden: [[32, 32], [64, 64]]
random:                               # and of as many draws as trials says
  agent.gamma: uniform(0.9, 0.99)     # or log(a,b), int(a,b), choice(x,y)
trials: 5
seed: 1                               # of the draws
seeds: 1-2                            # training seeds
name: rates                           # folder of the sweep, below --runs
metric: return                        # by which arms are ranked
halving: 5000                         # train all to this step, then one in factor further; or seeds
factor: 3
hyperband: true                       # let some trials begin at later rungs
asha: false                           # true, without hyperband, promotes trials as scores arrive
score_seeds: 4001-4010                # workload seeds on which trials are scored
propose: optuna:tpe                   # who proposes the trials; or halton, or cmd PROGRAM …
batch: 8                              # trials that are proposed together
final: 3x5                            # train the best three anew with five seeds, and evaluate them
`

var fileKeys = []string{"config", "name", "set", "grid", "random", "trials", "seed", "seeds", "metric",
	"halving", "factor", "hyperband", "asha", "score_seeds", "final", "propose", "batch"}

// ReadFile reads a sweep's file. Errors name its line.
func ReadFile(path string) (*Request, error) {
	b, err := configs.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseFile(path, b)
}

func parseFile(path string, b []byte) (*Request, error) {
	var doc yaml.Node
	if err := yaml.Load(b, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: want keys and values, such as grid: {agent.actor_rate: [1e-4, 3e-4]}", path)
	}
	r := &Request{}
	var all error
	err := pairs(doc.Content[0], func(key string, line int, v *yaml.Node) error {
		if err := r.take(key, v); err != nil {
			all = errors.Join(all, fmt.Errorf("%s:%d: %s %w", path, line, key, err))
		}
		return nil
	})
	return r, errors.Join(all, err)
}

// pairs calls do with the keys and values of a mapping, in their order.
func pairs(n *yaml.Node, do func(key string, line int, v *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return errors.New("wants keys and values, as in {agent.gamma: …}")
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := n.Content[i].Value; seen[key] {
			return fmt.Errorf("has the key %s twice, again in line %d", key, n.Content[i].Line)
		}
		seen[n.Content[i].Value] = true
		if err := do(n.Content[i].Value, n.Content[i].Line, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// take reads one key of the file.
func (r *Request) take(key string, v *yaml.Node) error {
	switch key {
	case "config", "name", "seeds", "metric", "halving", "score_seeds", "final", "propose":
		if v.Kind != yaml.ScalarNode {
			return errors.New("wants one value")
		}
		*map[string]*string{"config": &r.Config, "name": &r.Name, "seeds": &r.Seeds, "metric": &r.Metric,
			"halving": &r.Study.Halving, "score_seeds": &r.Study.ScoreSeeds, "final": &r.Study.Final, "propose": &r.Study.Propose}[key] = v.Value
	case "hyperband", "asha":
		if err := v.Load(map[string]*bool{"hyperband": &r.Study.Hyperband, "asha": &r.Study.Asynchronous}[key]); err != nil {
			return fmt.Errorf("is %q, want true or false", v.Value)
		}
	case "trials", "seed", "factor", "batch":
		into := map[string]any{"trials": &r.Trials, "seed": &r.Seed, "factor": &r.Study.Factor, "batch": &r.Study.Batch}[key]
		if err := v.Load(into); err != nil || r.Trials < 0 || r.Study.Factor < 0 || r.Study.Batch < 0 {
			return fmt.Errorf("is %q, want a whole number of at least 0", v.Value)
		}
	case "set":
		return pairs(v, func(k string, _ int, v *yaml.Node) error {
			text, err := inline(v)
			r.Set = append(r.Set, k+"="+text)
			return err
		})
	case "grid":
		return pairs(v, func(k string, _ int, v *yaml.Node) error {
			if v.Kind != yaml.SequenceNode || len(v.Content) == 0 {
				return fmt.Errorf("%s wants a list of values, as in [1e-4, 3e-4]", k)
			}
			a := Axis{Key: k}
			for _, c := range v.Content {
				text, err := inline(c)
				if err != nil {
					return err
				}
				a.Values = append(a.Values, text)
			}
			r.Grid = append(r.Grid, a)
			return nil
		})
	case "random":
		return pairs(v, func(k string, _ int, v *yaml.Node) error {
			law, err := ParseLaw(v.Value)
			if strings.Contains(v.Value, "(") && !strings.Contains(v.Value, ")") { // YAML cut it at the comma
				return fmt.Errorf("%s is %q: within {…} a law needs quotes, as in {%s: 'uniform(1,2)'}", k, v.Value, k)
			}
			if err != nil {
				return fmt.Errorf("%s %w", k, err)
			}
			r.Random = append(r.Random, Range{k, law})
			return nil
		})
	default:
		hint := ""
		if near := configs.Nearest(key, fileKeys); near != "" {
			hint = fmt.Sprintf("; did you mean %s", near)
		}
		return fmt.Errorf("is no key of a sweep's file%s; want one of %s", hint, strings.Join(fileKeys, ", "))
	}
	return nil
}

// inline writes a value as --set takes it.
func inline(n *yaml.Node) (string, error) {
	if n.Kind == yaml.ScalarNode {
		return n.Value, nil
	}
	var flow func(n *yaml.Node) *yaml.Node
	flow = func(n *yaml.Node) *yaml.Node {
		c := *n
		c.Style, c.HeadComment, c.LineComment, c.FootComment = yaml.FlowStyle, "", "", ""
		if n.Kind == yaml.ScalarNode {
			c.Style = n.Style
		}
		c.Content = nil
		for _, child := range n.Content {
			c.Content = append(c.Content, flow(child))
		}
		return &c
	}
	b, err := yaml.Dump(flow(n))
	return strings.TrimSpace(string(b)), err
}

// Law is a distribution of values: uniform(a,b), log(a,b), int(a,b) or choice(x,y,…). Its text form is the same.
type Law struct {
	kind      string
	low, high float64  // of uniform, log and int; int has both ends
	words     []string // of choice
}

// Kinds of laws.
const (
	uniformLaw = "uniform"
	logLaw     = "log"
	intLaw     = "int"
	choiceLaw  = "choice"
)

const lawsWanted = "want uniform(a,b), log(a,b), int(a,b) or choice(x,y,…)"

// ParseLaw reads a law's text.
func ParseLaw(s string) (Law, error) {
	name, inside, ok := strings.Cut(strings.TrimSpace(s), "(")
	inside, closed := strings.CutSuffix(inside, ")")
	if !ok || !closed {
		return Law{}, fmt.Errorf("is %q, %s", s, lawsWanted)
	}
	l := Law{kind: strings.TrimSpace(name)}
	parts, err := split(inside)
	if err != nil {
		return l, err
	}
	switch l.kind {
	case choiceLaw:
		if l.words = parts; len(parts) < 2 {
			return l, fmt.Errorf("is %q, want at least two values to choose from", s)
		}
		return l, nil
	case uniformLaw, logLaw, intLaw:
	default:
		hint := ""
		if near := configs.Nearest(l.kind, []string{uniformLaw, logLaw, intLaw, choiceLaw}); near != "" {
			hint = fmt.Sprintf("did you mean %s? ", near)
		}
		return l, fmt.Errorf("is %q: %s%s", s, hint, lawsWanted)
	}
	if len(parts) != 2 {
		return l, fmt.Errorf("is %q, want two numbers, as in %s(1,10)", s, l.kind)
	}
	for i, end := range []*float64{&l.low, &l.high} {
		if *end, err = strconv.ParseFloat(parts[i], 64); err != nil || math.IsNaN(*end) || math.IsInf(*end, 0) {
			return l, fmt.Errorf("is %q: %q is not a number", s, parts[i])
		}
	}
	const exact = 1 << 53 // beyond it a float64 does not hold every whole number
	switch {
	case l.low >= l.high:
		return l, fmt.Errorf("is %q, want the smaller number first", s)
	case l.kind == logLaw && l.low <= 0:
		return l, fmt.Errorf("is %q, want positive numbers for log", s)
	case l.kind == intLaw && (l.low != math.Trunc(l.low) || l.high != math.Trunc(l.high) ||
		max(-l.low, l.high) > exact || l.high-l.low >= math.MaxInt32):
		return l, fmt.Errorf("is %q, want whole numbers, less than 2^31 apart", s)
	}
	return l, nil
}

// String is the text that ParseLaw reads.
func (l Law) String() string {
	if l.kind == choiceLaw {
		return choiceLaw + "(" + strings.Join(l.words, ",") + ")"
	}
	return fmt.Sprintf("%s(%s,%s)", l.kind, number(l.low), number(l.high))
}

// MarshalText implements [encoding.TextMarshaler].
func (l Law) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (l *Law) UnmarshalText(b []byte) (err error) {
	*l, err = ParseLaw(string(b))
	return err
}

// Log reports whether the law is even over the logarithm of its values.
func (l Law) Log() bool { return l.kind == logLaw }

// edges are the values that must be valid if all draws are to be.
func (l Law) edges() []string {
	if l.kind == choiceLaw {
		return l.words
	}
	return []string{number(l.low), number(l.high)}
}

// draw is the value of a key's number. Numbers are rounded, to a thousandth of the range or four figures, so that they
// can be read and set by hand.
func (l Law) draw(k rng.Key) string {
	switch l.kind {
	case choiceLaw:
		return l.words[k.IntN(len(l.words))]
	case intLaw:
		return number(l.low + float64(k.IntN(int(l.high-l.low)+1)))
	}
	return l.at(k.Float64())
}

// at is the value at a share of the law, 0 or more and less than 1.
func (l Law) at(u float64) string {
	switch l.kind {
	case choiceLaw:
		return l.words[int(u*float64(len(l.words)))]
	case intLaw:
		return number(l.low + math.Floor(u*(l.high-l.low+1)))
	case logLaw:
		a, b := portable.Log(l.low), portable.Log(l.high)
		return l.written(portable.Exp(a + float64(u*(b-a))))
	}
	return l.written(l.low + float64(u*(l.high-l.low)))
}

// written rounds a number within the law's range and writes it.
func (l Law) written(x float64) string {
	text := strconv.FormatFloat(x, 'f', max(0, 3-magnitude(l.high-l.low)), 64)
	if l.kind == logLaw {
		text = strconv.FormatFloat(x, 'g', 4, 64)
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil { // it was written by FormatFloat
		return number(l.low)
	}
	return number(min(max(x, l.low), l.high))
}

// magnitude is the power of ten of x's first digit.
func magnitude(x float64) int {
	_, power, _ := strings.Cut(strconv.FormatFloat(x, 'e', -1, 64), "e")
	n, err := strconv.Atoi(power)
	if err != nil { // not finite
		return 0
	}
	return n
}

// number writes a number as people set it: 0.001, 3e-4, 1000000.
func number(x float64) string {
	if m := magnitude(x); x != 0 && (m < -3 || m > 15) {
		digits, _, _ := strings.Cut(strconv.FormatFloat(x, 'e', -1, 64), "e")
		return fmt.Sprintf("%se%d", digits, m)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// split cuts a list at its commas, those within brackets and quotes aside.
func split(s string) ([]string, error) {
	var out []string
	depth, from := 0, 0
	var quote byte
	for i := range len(s) {
		c := s[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case strings.IndexByte("[{(", c) >= 0:
			depth++
		case strings.IndexByte("]})", c) >= 0:
			depth--
		case c == ',' && depth == 0:
			out, from = append(out, strings.TrimSpace(s[from:i])), i+1
		}
	}
	out = append(out, strings.TrimSpace(s[from:]))
	for _, v := range out {
		if v == "" {
			return nil, fmt.Errorf("is %q, where a value is empty", s)
		}
	}
	if depth != 0 || quote != 0 {
		return nil, fmt.Errorf("is %q, where a bracket or quote is not closed", s)
	}
	return out, nil
}

// ParseAxis reads KEY=VALUE,VALUE….
func ParseAxis(s string) (Axis, error) {
	key, list, ok := strings.Cut(s, "=")
	key = strings.TrimSpace(key)
	if !ok || key == "" {
		return Axis{}, fmt.Errorf("is %q, want KEY=VALUE,VALUE, as in agent.actor_rate=1e-4,3e-4", s)
	}
	values, err := split(list)
	if err != nil {
		return Axis{}, fmt.Errorf("%s %w", key, err)
	}
	return Axis{key, values}, nil
}

// ParseRange reads KEY=LAW.
func ParseRange(s string) (Range, error) {
	key, law, ok := strings.Cut(s, "=")
	key = strings.TrimSpace(key)
	if !ok || key == "" {
		return Range{}, fmt.Errorf("is %q, want KEY=LAW, as in agent.actor_rate=log(1e-5,1e-2)", s)
	}
	l, err := ParseLaw(law)
	if err != nil {
		return Range{}, fmt.Errorf("%s %w", key, err)
	}
	return Range{key, l}, nil
}
