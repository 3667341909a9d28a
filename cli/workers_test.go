package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// What launch writes says how workers join; what does not fit is refused before anything is written.
func TestLaunch(t *testing.T) {
	dir := t.TempDir()
	at := "tls://h:1#" + strings.Repeat("0", 64)
	for name, args := range map[string][]string{
		"workers.sbatch": {"slurm", "--workers", "3", "--token-file", "my token"},
		"workers.sh":     {"ssh", "--host", "a", "--host", "b"},
		"workers.yaml":   {"kubernetes", "--image", "stoker:1"},
	} {
		args = append([]string{"launch", "--join", at, "--out", dir}, args...)
		code, out, errs := stoker(args...)
		if code != exitDone || out != "wrote "+filepath.Join(dir, name)+"\n" {
			t.Fatalf("exit %d, %s%s", code, out, errs)
		}
		text := string(must.Get(os.ReadFile(filepath.Join(dir, name)))(t))
		if !strings.Contains(text, at) || strings.Contains(strings.Join(args, " "), "my token") && !strings.Contains(text, "'my token'") {
			t.Errorf("%s: %s", name, text)
		}
		if code, _, errs := stoker(args...); code != exitUsage || !strings.Contains(errs, "is there and stays as it is") {
			t.Errorf("exit %d, %s", code, errs)
		}
	}
	for want, args := range map[string]string{
		"slurm|kubernetes|ssh is missing":     "launch",
		"did you mean slurm?":                 "launch slrum --join " + at,
		"--join is missing":                   "launch slurm",
		"want tls://HOST:PORT#FINGERPRINT":    "launch slurm --join h:1",
		"--host is for ssh, not for slurm":    "launch slurm --join " + at + " --host a",
		"--image is for kubernetes, not":      "launch ssh --join " + at + " --image a",
		"--image is missing":                  "launch kubernetes --join " + at,
		"--nats-nkey is \"/etc/u.nk\"":        "launch kubernetes --image i --nats-nkey /etc/u.nk --join nats://n:1",
		"want nats://HOST:PORT or tls:":       "launch slurm --nats-nkey u.nk --join h",
		"want one of them: a cluster":         "launch slurm --nats-ca ca --join tls://h:1",
		"--token-file is for a coordinator's": "launch slurm --nats-nkey u --token-file t --join tls://h:1",
		"--secret is \"A\"":                   "launch kubernetes --image i --secret A --join " + at,
		"warning: --join nats://127.0.0.1:1":  "launch kubernetes --join nats://127.0.0.1:1",
	} {
		if code, _, errs := stoker(strings.Fields(args)...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("stoker %s: exit %d, %s\nwant %q", args, code, errs, want)
		}
	}
}
