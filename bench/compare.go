package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/stoker-rl/stoker/internal/lists"
)

// Line is a measurement decoded from JSON, ours or a peer's.
type Line map[string]any

// keys say what was measured. Two lines match where all keys that both have are equal.
var keys = []string{"bench", "env", "form", "what", "agents", "batch", "neighbours", "instances", "episodes", "edges", "hidden"}

// sameInstances is the relative difference at which two numbers of instances still match: they are an outcome of
// simulations.
const sameInstances = 0.2

// AsLine converts a result to its JSON line.
func AsLine(r Result) (Line, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return ParseLine(b)
}

// ParseLine reads one measurement. It must have the key "bench" and at least one figure.
func ParseLine(b []byte) (Line, error) {
	var l Line
	if err := json.Unmarshal(b, &l); err != nil {
		return nil, err
	}
	if s, ok := l["bench"].(string); !ok || s == "" {
		return nil, errors.New(`no "bench", want the measurement's name, such as "attmf"`)
	}
	f := l.Figures()
	if len(f) == 0 {
		return nil, errors.New(`no figure, want one such as "updates_per_second" or "step_seconds"`)
	}
	for _, name := range f {
		if x, ok := l[name].(float64); !ok || !(x > 0) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("%q is %v, want a number above 0", name, l[name])
		}
	}
	return l, nil
}

// ReadLines reads measurements, one a line. It skips lines that don't begin with a brace.
func ReadLines(r io.Reader) ([]Line, error) {
	var out []Line
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		text := bytes.TrimSpace(in.Bytes())
		if !bytes.HasPrefix(text, []byte("{")) {
			continue
		}
		l, err := ParseLine(text)
		if err != nil {
			return out, fmt.Errorf("line %d: %w: %s", n, err, shorten(string(text)))
		}
		out = append(out, l)
	}
	return out, in.Err()
}

// shorten cuts a peer's output to a length that suits an error message.
func shorten(s string) string {
	const most = 300
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// Figures are the names of the line's rates (…_per_second, gflops) and times (…_seconds, ns_per_op).
func (l Line) Figures() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(l)) {
		if isTime(name) || strings.HasSuffix(name, "_per_second") || name == "gflops" {
			out = append(out, name)
		}
	}
	return out
}

// isTime reports whether a figure is a time: less is better.
func isTime(figure string) bool {
	return strings.HasSuffix(figure, "_seconds") || figure == "ns_per_op"
}

// Matches reports whether two lines measure the same: all keys that both have are equal, except that numbers of
// instances may differ by 20 %.
func (l Line) Matches(o Line) bool {
	for _, k := range keys {
		a, b := l[k], o[k]
		if a == nil || b == nil {
			continue
		}
		if x, ok := a.(float64); ok && k == "instances" {
			if y, ok := b.(float64); !ok || math.Abs(x-y) > sameInstances*max(x, y) {
				return false
			}
			continue
		}
		if a != b {
			return false
		}
	}
	return true
}

// shared are the figures that both lines have. ns_per_op is used only where it is the only one.
func (l Line) shared(o Line) []string {
	var out []string
	for _, f := range l.Figures() {
		if o[f] != nil {
			out = append(out, f)
		}
	}
	if len(out) > 1 {
		out = slices.DeleteFunc(out, func(f string) bool { return f == "ns_per_op" })
	}
	return out
}

// advantage is how many times better than o the line is in a figure: a ratio of rates, or the inverse ratio of times.
func (l Line) advantage(o Line, figure string) float64 {
	a, b := l[figure].(float64), o[figure].(float64)
	if isTime(figure) {
		return b / a
	}
	return a / b
}

// String describes what was measured, for tables: the values of the keys.
func (l Line) String() string {
	var parts []string
	for _, k := range keys {
		switch x := l[k].(type) {
		case string:
			parts = append(parts, x)
		case float64:
			switch k {
			case "batch":
				parts = append(parts, fmt.Sprintf("× %g", x))
			default:
				parts = append(parts, fmt.Sprintf("%.4g %s", x, k))
			}
		}
	}
	return strings.Join(parts, " ")
}

// ours is the name of this program in comparisons.
const ours = "stoker"

// by names what was measured: a peer's name, or our engine with its kernels, and the threads; who where the line says
// nothing.
func (l Line) by(who string) string {
	var parts []string
	for _, k := range []string{"peer", "engine", "kernels"} {
		if s, ok := l[k].(string); ok {
			parts = append(parts, s)
		}
	}
	if t, ok := l["threads"].(float64); ok {
		parts = append(parts, fmt.Sprintf("%g threads", t))
	}
	if len(parts) == 0 {
		return who
	}
	return strings.Join(parts, " ")
}

// Comparison compares a figure of ours with a peer's. The two are measured in turn, and each ratio is of two
// measurements taken one after the other.
type Comparison struct {
	What   string `json:"what"`
	Ours   string `json:"ours"`
	Peer   string `json:"peer"`
	Figure string `json:"figure"`
	// OurValue and PeerValue are medians.
	OurValue  float64 `json:"our_value"`
	PeerValue float64 `json:"peer_value"`
	// Ratio is how many times better ours is, the median over rounds; Low and High are the quartiles.
	Ratio  float64 `json:"ratio"`
	Low    float64 `json:"ratio_low"`
	High   float64 `json:"ratio_high"`
	Rounds int     `json:"rounds"`
	// Least and Most are the smallest and largest ratio.
	Least float64 `json:"ratio_least"`
	Most  float64 `json:"ratio_most"`

	OurCommand  string `json:"our_command,omitempty"`
	PeerCommand string `json:"peer_command"`
	Machine
	Revision string `json:"revision,omitempty"`

	ratios, ours, peers []float64
}

// Peers are commands of other programs that measure the same, run in turn with ours.
type Peers struct {
	Commands []string // for the system's shell
	Rounds   int
	// Pause is the time between two rounds, in which the processor cools.
	Pause time.Duration
	// OurCommand and Revision are recorded in the comparisons.
	OurCommand, Revision string
	// Log receives the progress.
	Log io.Writer
}

// Compare runs ours and each peer in turn, Rounds times, and compares lines that match. It fails where a peer fails or
// prints no valid measurement, and where nothing matches.
func (p Peers) Compare(ctx context.Context, ours func() ([]Line, error)) ([]Comparison, error) {
	var out []*Comparison
	unmatched := map[string]bool{}
	for round := range p.Rounds {
		if round > 0 {
			select {
			case <-time.After(p.Pause):
			case <-ctx.Done():
			}
		}
		fmt.Fprintf(p.Log, "round %d of %d: ours\n", round+1, p.Rounds)
		mine, err := ours()
		if err != nil {
			return nil, err
		}
		for _, c := range p.Commands {
			if err := ctx.Err(); err != nil {
				return nil, context.Cause(ctx)
			}
			fmt.Fprintf(p.Log, "round %d of %d: %s\n", round+1, p.Rounds, c)
			theirs, err := runPeer(ctx, c)
			if err != nil {
				return nil, err
			}
			for _, peer := range theirs {
				n := 0
				for _, m := range mine {
					if m.Matches(peer) {
						for _, figure := range m.shared(peer) {
							n++
							out = p.add(out, m, peer, figure, c)
						}
					}
				}
				if s := peer.String(); n == 0 && !unmatched[s] {
					unmatched[s] = true
					fmt.Fprintf(p.Log, "no measurement of ours matches the peer's %s (%s)\n", s, strings.Join(peer.Figures(), ", "))
				}
			}
		}
	}
	if len(out) == 0 {
		return nil, errors.New("no measurement of the peers matches one of ours: want the same bench, " +
			"keys such as agents and batch that are equal where both have them, and a figure of the same name, such as " +
			"updates_per_second")
	}
	return lists.From(out, func(c *Comparison) Comparison { return c.finish() }), nil
}

// add adds one pair of measurements to its comparison.
func (p Peers) add(list []*Comparison, mine, peer Line, figure, command string) []*Comparison {
	what, by, peerBy := mine.String(), mine.by(ours), peer.by("peer")
	i := slices.IndexFunc(list, func(c *Comparison) bool {
		return c.What == what && c.Ours == by && c.Peer == peerBy && c.Figure == figure && c.PeerCommand == command
	})
	if i < 0 {
		i = len(list)
		list = append(list, &Comparison{
			What: what, Ours: by, Peer: peerBy, Figure: figure, OurCommand: p.OurCommand, PeerCommand: command,
			Machine: ThisMachine(), Revision: p.Revision,
		})
	}
	c := list[i]
	c.ratios = append(c.ratios, mine.advantage(peer, figure))
	c.ours = append(c.ours, mine[figure].(float64))
	c.peers = append(c.peers, peer[figure].(float64))
	return list
}

func (c *Comparison) finish() Comparison {
	for _, x := range [][]float64{c.ratios, c.ours, c.peers} {
		slices.Sort(x)
	}
	c.OurValue, c.PeerValue = quantile(c.ours, 0.5), quantile(c.peers, 0.5)
	c.Ratio, c.Low, c.High, c.Rounds = quantile(c.ratios, 0.5), quantile(c.ratios, 0.25), quantile(c.ratios, 0.75),
		len(c.ratios)
	c.Least, c.Most = c.ratios[0], c.ratios[len(c.ratios)-1]
	return *c
}

// runPeer runs a command of the system's shell and reads the measurements that it prints.
func runPeer(ctx context.Context, command string) ([]Line, error) {
	c := exec.CommandContext(ctx, "sh", "-c", command)
	if runtime.GOOS == "windows" {
		c = exec.CommandContext(ctx, "cmd", "/c", command)
	}
	c.WaitDelay = 5 * time.Second // what the shell started may hold the pipes
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("the peer %q failed: %w%s", command, err, tail(errs.String()))
	}
	lines, err := ReadLines(bytes.NewReader(out.Bytes()))
	if err != nil {
		return nil, fmt.Errorf("the peer %q printed an invalid measurement: %w", command, err)
	}
	if len(lines) == 0 {
		said := "nothing"
		if s := strings.TrimSpace(out.String()); s != "" {
			said = shorten(s)
		}
		return nil, fmt.Errorf(`the peer %q printed no measurement, `+
			`want lines such as {"bench":"attmf","agents":5,"batch":64,"updates_per_second":88}; it printed: %s%s`,
			command, said, tail(errs.String()))
	}
	return lines, nil
}

// tail is the end of the standard error, for an error message.
func tail(s string) string {
	const most = 8
	lines := strings.Split(strings.TrimSpace(s), "\n")
	if lines[0] == "" {
		return ""
	}
	return "\n" + strings.Join(lines[max(0, len(lines)-most):], "\n")
}

// Beside returns the recorded lines that match ours and were measured with the same engine, kernels and threads, or by
// a peer.
func Beside(mine Line, recorded []Line) []Line {
	var out []Line
	for _, r := range recorded {
		if r.Matches(mine) && len(mine.shared(r)) > 0 && (r["peer"] != nil || r.by(ours) == mine.by(ours)) {
			out = append(out, r)
		}
	}
	return out
}

// Against writes how many times better ours is than a recorded line: "1.02 × 3456 (lean 2 threads)".
func Against(mine, recorded Line) string {
	f := mine.shared(recorded)[0]
	x := recorded[f].(float64)
	text := fmt.Sprintf("%.2f × %s", mine.advantage(recorded, f), Digits(x))
	if recorded["peer"] != nil {
		text += " (" + recorded.by("peer") + ")"
	}
	return text
}
