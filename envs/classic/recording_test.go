package classic

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// gymnasium names the environment variable that holds the file of a whole recording, as testdata/record.py FILE writes
// it, relative to this folder; without it the kept fiftieth is read.
const gymnasium = "STOKER_GYMNASIUM"

// recordedStep is one step of Gymnasium from a state; recordedEpisode one of random actions from its start.
type recordedStep struct {
	From, To           [4]float64
	Action, Terminated uint8
}

type recordedEpisode struct {
	From, To              [4]float64
	Limit, Length         uint16
	Terminated, Truncated uint8
}

// recording is a file of testdata/record.py, which says how it is laid out. actions holds a bit per step of each
// episode.
type recording struct {
	file     string
	steps    []recordedStep
	episodes []recordedEpisode
	actions  [][]byte
}

func readRecording(t *testing.T) *recording {
	t.Helper()
	r := &recording{file: os.Getenv(gymnasium)}
	if r.file == "" {
		r.file = "testdata/cartpole_gymnasium.gz"
	}
	if err := r.read(); err != nil {
		t.Fatalf("%s: %v", r.file, err)
	}
	return r
}

func (r *recording) read() error {
	packed, err := os.ReadFile(r.file)
	if err != nil {
		return err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	data, err := io.ReadAll(z)
	if err != nil {
		return err
	}
	in := bytes.NewReader(data)
	var n [2]uint32
	if err := binary.Read(in, binary.LittleEndian, &n); err != nil {
		return err
	}
	if int(n[0]) > len(data)/binary.Size(recordedStep{}) || int(n[1]) > len(data)/binary.Size(recordedEpisode{}) {
		return fmt.Errorf("%d steps and %d episodes in %d bytes", n[0], n[1], len(data))
	}
	r.steps = make([]recordedStep, n[0])
	if err := binary.Read(in, binary.LittleEndian, r.steps); err != nil {
		return err
	}
	for range n[1] {
		var e recordedEpisode
		if err := binary.Read(in, binary.LittleEndian, &e); err != nil {
			return err
		}
		bits := make([]byte, (int(e.Length)+7)/8)
		if _, err := io.ReadFull(in, bits); err != nil {
			return err
		}
		r.episodes, r.actions = append(r.episodes, e), append(r.actions, bits)
	}
	if in.Len() != 0 {
		return errors.New("there is more than was announced")
	}
	return nil
}

// farthestOf is the largest difference of two states.
func farthestOf(a, b [4]float64) float64 {
	d := 0.0
	for i := range a {
		d = max(d, math.Abs(a[i]-b[i]))
	}
	return d
}

// proven is the command of the claims, which hold for the recording that was read.
func proven(test string) string {
	if os.Getenv(gymnasium) == "" {
		return ""
	}
	return "python3 envs/classic/testdata/record.py bin/cartpole.gz; " + gymnasium +
		"=../../bin/cartpole.gz go test ./envs/classic -run '^" + test + "$'"
}

// From each recorded state one step ends where Gymnasium's does and says the same of the end.
func TestCartPoleStepsAsGymnasium(t *testing.T) {
	r := readRecording(t)
	c, err := NewCartPole(DefaultCartPole())
	p := newPlayer(t, c, err)
	ended, equal, flags, worst := 0, 0, 0, 0.0
	for n, s := range r.steps {
		c.SetPose(s.From, p.obs)
		p.act.Kinds[0][0] = float32(s.Action)
		must.Do(t, c.Step(p.act, p.obs, p.out))
		state := c.Pose()
		if state == s.To {
			equal++
		}
		worst = max(worst, farthestOf(state, s.To))
		for i, x := range state {
			if p.obs.Kinds[0].Values[i] != float32(x) {
				t.Fatalf("step %d: component %d is seen as %g, is %g", n, i, p.obs.Kinds[0].Values[i], x)
			}
		}
		if p.out.Terminated != (s.Terminated == 1) || p.out.Truncated || p.out.Rewards[0][0] != 1 {
			flags++
			t.Errorf("step %d: terminated %v, truncated %v, reward %v, Gymnasium's %d, 0, 1", n, p.out.Terminated,
				p.out.Truncated, p.out.Rewards, s.Terminated)
		}
		if p.out.Terminated {
			ended++
		}
	}
	if ended < len(r.steps)/10 || ended > len(r.steps)*9/10 {
		t.Errorf("%d of %d recorded steps end the episode; the bounds are not tested", ended, len(r.steps))
	}
	proof.Claim(t, proof.Row{
		Topic: "environments",
		Claim: fmt.Sprintf("CartPole-v1: one step from each of %d recorded states agrees with Gymnasium 1.4.0 in float64, with the same flags", len(r.steps)),
		Bound: "1e-12, no flag differs",
		Measured: fmt.Sprintf("largest difference %.2g, %d states equal to the last bit, %d flags differ; %d steps terminate",
			worst, equal, flags, ended),
		Holds:   worst <= near && flags == 0,
		Command: proven(t.Name()),
	})
}

// Random episodes that run freely from Gymnasium's start end at the same step and for the same reason, with and without
// the cut after 20 steps. What single steps leave grows on the way, since a pole falls by itself.
func TestCartPoleEpisodesAsGymnasium(t *testing.T) {
	r := readRecording(t)
	players := map[uint16]*player{}
	steps, longest, truncated, both, other, worst := 0, 0, 0, 0, 0, 0.0
	for n, e := range r.episodes {
		p := players[e.Limit]
		if p == nil {
			c, err := NewCartPole(CartPoleConfig{MaxSteps: int(e.Limit)})
			p = newPlayer(t, c, err)
			players[e.Limit] = p
		}
		c := p.env.(*CartPole)
		c.SetPose(e.From, p.obs)
		length := 0
		for p.out.Terminated, p.out.Truncated = false, false; !p.out.Terminated && !p.out.Truncated &&
			length < int(e.Length); length++ {
			p.act.Kinds[0][0] = float32(r.actions[n][length/8] >> (length % 8) & 1)
			must.Do(t, c.Step(p.act, p.obs, p.out))
		}
		if length != int(e.Length) || p.out.Terminated != (e.Terminated == 1) || p.out.Truncated != (e.Truncated == 1) {
			other++
			t.Errorf("episode %d: after %d steps terminated %v, truncated %v; Gymnasium's ends after %d: %d, %d",
				n, length, p.out.Terminated, p.out.Truncated, e.Length, e.Terminated, e.Truncated)
		}
		steps, longest, worst = steps+length, max(longest, length), max(worst, farthestOf(c.Pose(), e.To))
		truncated += int(e.Truncated)
		both += int(e.Truncated & e.Terminated)
	}
	if truncated == 0 || both == 0 || truncated == len(r.episodes) {
		t.Errorf("of %d episodes %d are cut and %d of them also end: some of each are wanted", len(r.episodes), truncated,
			both)
	}
	proof.Claim(t, proof.Row{
		Topic: "environments",
		Claim: fmt.Sprintf("CartPole-v1: %d free-running random episodes of Gymnasium 1.4.0 (%d steps) end at the same step with the same flags", len(r.episodes), steps),
		Bound: "no episode differs",
		Measured: fmt.Sprintf("%d differ; last states are at most %.2g apart; the longest has %d steps, %d are truncated, %d of these terminate in the same step",
			other, worst, longest, truncated, both),
		Holds:   other == 0,
		Command: proven(t.Name()),
	})
}
