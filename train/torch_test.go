//go:build libtorch

package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets/torch"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/tools/proof"
)

// onTorch are the settings of a run on libtorch on the CPU, with a number of threads, 0 for what libtorch has.
func onTorch(threads int) []string {
	return []string{"engine.name=torch", "engine.device=cpu", fmt.Sprintf("engine.threads=%d", threads)}
}

// keepThreads puts libtorch's number of threads, which is the process's, back at the test's end.
func keepThreads(t *testing.T) {
	n := torch.Threads()
	t.Cleanup(func() { must.Do(t, torch.SetThreads(n)) })
}

// A run on libtorch that is stopped at any step and resumed leaves the bytes of one that was not, at every number of
// threads.
func TestResumeIsExactOnTorch(t *testing.T) {
	keepThreads(t)
	all := 0
	for name, text := range small {
		for _, threads := range []int{1, 2} {
			x := parse(t, text, onTorch(threads)...)
			want := finished(t, x)
			for _, stride := range []int{1, 3, 7} {
				l := newLab(t)
				ctx := &countdown{context.Background(), stride}
				_, err := Start(ctx, x, l.options())
				stops := 0
				for ; errors.Is(err, errStop); stops++ {
					ctx.n = stride + 1
					_, err = Resume(ctx, l.dir(), l.options())
				}
				must.Do(t, err)
				if stops == 0 {
					t.Errorf("%s was never stopped", name)
				}
				all += stops
				same(t, fmt.Sprintf("%s on %d threads, stopped every %d steps", name, threads, stride), l.outcome(t),
					want)
			}
		}
	}
	proof.Claim(t, proof.Row{
		Topic: "resume",
		Claim: "libtorch on the CPU, on 1 and on 2 threads: small runs of sizing, simple_spread and LQR, stopped " +
			"every few steps and resumed, end as an uninterrupted run",
		Bound:    "equal bytes",
		Measured: fmt.Sprintf("equal bytes after %d stops", all),
		Holds:    true, // same has ended the test where not
		Command:  "go test -tags libtorch ./train -run '^TestResumeIsExactOnTorch$' -v",
	})
}

// Another number of threads adds sums up in another order: it is refused, and allowed with Inexact.
func TestAnotherNumberOfThreadsIsRefused(t *testing.T) {
	keepThreads(t)
	runs := t.TempDir()
	dir := filepath.Join(runs, "a")
	must.Do(t, torch.SetThreads(2))
	_, err := Start(&countdown{context.Background(), 8}, parse(t, small["lqr"], onTorch(0)...), options(runs))
	if !errors.Is(err, errStop) {
		t.Fatal(err)
	}
	must.Do(t, torch.SetThreads(1))
	_, err = Resume(context.Background(), dir, options(""))
	if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "2threads") ||
		!strings.Contains(err.Error(), "--inexact") {
		t.Fatalf("another number of threads gave %v", err)
	}
	o := options("")
	o.Inexact = true
	if res, err := Resume(context.Background(), dir, o); err != nil || res.Steps != 40 {
		t.Fatalf("with Inexact: %+v, %v", res, err)
	}
}

// Runs long enough to be killed a few times, with networks of the sizes that are trained; with -long they last twice
// as long.
var torchRuns = []struct {
	name  string
	steps int
	text  string
}{
	{"simple_spread", 1500, `
name: spread
env: {id: stoker/SimpleSpread-v1, steps: 25}
agent: {name: maddpg, mix: joint, hidden: [64, 64], batch: 256, replay: 2000, update_every: 20, random_steps: 200, learning_starts: 300}
train: {envs: 4, log_every: 100, evaluate: {every: 600, episodes: 2}, checkpoint: {every: 350, keep: 2}}
`},
	{"sizing", 400, `
name: sizing
env: {id: stoker/Sizing-v2, windows: 20}
agent: {name: maddpg, hidden: [64, 64], keys: 16, batch: 64, random_steps: 100, learning_starts: 150}
train: {envs: 8, log_every: 50, evaluate: {every: 200, episodes: 1, metric: price}, checkpoint: {every: 100, keep: 2}}
`},
}

// Names of environment variables by which a copy of this test program is told its run.
const (
	torchVictimVar = "STOKER_TEST_TORCH_RUNS"
	torchConfigVar = "STOKER_TEST_TORCH_CONFIG"
	torchStepsVar  = "STOKER_TEST_TORCH_STEPS"
)

// TestTorchVictim is what the copy does: it begins the run, or resumes it, to the end unless it is killed.
func TestTorchVictim(t *testing.T) {
	runs := os.Getenv(torchVictimVar)
	if runs == "" {
		t.Skip("only in a process of its own")
	}
	if dir := filepath.Join(runs, "a"); onDisk(dir) {
		_, err := Resume(context.Background(), dir, mortal(options("")))
		must.Do(t, err)
		return
	}
	x, err := configs.Parse("test.yaml", []byte(os.Getenv(torchConfigVar)),
		append(onTorch(2), "train.steps="+os.Getenv(torchStepsVar)), catalog.Default())
	must.Do(t, err)
	_, err = Start(context.Background(), x, mortal(options(runs)))
	must.Do(t, err)
}

func onDisk(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Processes that train on libtorch are killed by SIGKILL at random steps; the run is resumed each time in a new
// process, and ends with the bytes of one that was left alone.
func TestTorchKilledAtAnyMoment(t *testing.T) {
	kills, longer := 2, 1
	if *long {
		kills, longer = 20, 2
	}
	for _, r := range torchRuns {
		settings := []string{torchConfigVar + "=" + r.text, fmt.Sprintf("%s=%d", torchStepsVar, longer*r.steps)}
		whole := t.TempDir()
		must.Get(torchVictim(whole, settings))(t)
		want := outcome(t, durable.OS{}, filepath.Join(whole, "a"))
		stream := rng.NewStream(1, "moments")
		killed, runs, resumed := 0, 0, 0
		for killed < kills {
			folder := t.TempDir()
			for through := false; !through; {
				if onDisk(filepath.Join(folder, "a")) {
					resumed++
				}
				at := 1 + int(1.25*stream.Float64()*float64(longer*r.steps)) // one in five is behind the end
				gone, err := torchVictim(folder, append(slices.Clip(settings), fmt.Sprintf("%s=%d", victimStep, at)))
				must.Do(t, err)
				if through = !gone; gone {
					killed++
				}
			}
			runs++
			dir := filepath.Join(folder, "a")
			same(t, fmt.Sprintf("%s, run %d", r.name, runs), outcome(t, durable.OS{}, dir), want)
			sound(t, dir)
		}
		command := "go test -tags libtorch ./train -run '^TestTorchKilledAtAnyMoment$' -v"
		if *long {
			command += " -long -timeout 0"
		}
		proof.Claim(t, proof.Row{
			Topic: "resume",
			Claim: fmt.Sprintf("libtorch on the CPU, 2 threads, %s: killed by SIGKILL and resumed in a new process, "+
				"the final checkpoint and metrics.jsonl are those of an uninterrupted run", r.name),
			Bound:    "equal bytes",
			Measured: fmt.Sprintf("equal bytes in %d runs, %d processes killed, %d resumed", runs, killed, resumed),
			Holds:    true, // same has ended the test where not
			Command:  command,
		})
	}
}

// torchVictim runs a process to its end, or until it has killed itself.
func torchVictim(runs string, settings []string) (killed bool, err error) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestTorchVictim$", "-test.v")
	cmd.Env = append(append(os.Environ(), settings...), torchVictimVar+"="+runs, "OMP_WAIT_POLICY=PASSIVE")
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState != nil && !cmd.ProcessState.Exited() {
		return true, nil
	}
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestTorchVictim")) {
		return false, fmt.Errorf("%w: %s", errors.Join(errors.New("the process failed"), err), out)
	}
	return false, nil
}
