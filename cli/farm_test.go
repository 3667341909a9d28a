package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// Wrong uses of a farm are said before anything is begun, with what would be right.
func TestFarmUsage(t *testing.T) {
	dir := t.TempDir()
	file, open, short, token := config(t, brief), filepath.Join(dir, "open"), filepath.Join(dir, "short"), filepath.Join(dir, "token")
	must.Do(t, os.WriteFile(open, []byte(strings.Repeat("0", 64)), 0o600))
	must.Do(t, os.Chmod(open, 0o644)) //nolint:gosec // that is what is refused
	must.Do(t, os.WriteFile(short, []byte("abc"), 0o600))
	must.Do(t, os.WriteFile(token, []byte(strings.Repeat("0", 64)), 0o600))
	sweep := []string{"sweep", file, "--runs", dir, "--grid", "agent.actor_rate=1e-4,1e-3"}
	const at = "nats://127.0.0.1:1"
	for want, args := range map[string][]string{
		"--token-file is given without --listen, want both": append(sweep, "--token-file", token),
		`--listen: "4222", want HOST:PORT`:                  append(sweep, "--listen", "4222"),
		"want 64 hexadecimal digits":                        append(sweep, "--listen", "127.0.0.1:0", "--token-file", short),
		"--listen is for sweeps":                            {"resume", trained(t), "--listen", "127.0.0.1:0"},
		"--listen is given without --seeds":                 {"train", file, "--listen", "127.0.0.1:0"},
		"--rollouts is given without --listen":              {"train", file, "--rollouts", "2"},
		"--rollouts is given without --listen, want both":   {"resume", trained(t), "--rollouts", "2"},
		"--rollouts is for one run":                         {"train", file, "--seeds", "1-2", "--rollouts", "2", "--listen", "127.0.0.1:0"},
		"want HOST:PORT of this machine's own, as in":       append(sweep, "--listen", "127.0.0.1:0", "--metrics", "0.0.0.0:0"),
		"--metrics is given without --seeds":                {"train", file, "--metrics", "127.0.0.1:0"},
		"--metrics is given without --listen, want both":    append(sweep, "--metrics", "127.0.0.1:0"),
		"--nats-nkey is given without --listen, want both":  append(sweep, "--nats-nkey", token),
		"--nats-nkey is for your own NATS cluster":          append(sweep, "--listen", "127.0.0.1:1", "--nats-nkey", token),
		"want one of them: a cluster":                       append(sweep, "--listen", at),
		"want a user's seed, which begins with SU":          append(sweep, "--listen", at, "--nats-nkey", token),
		"--token-file is for a coordinator's own server":    append(sweep, "--listen", at, "--nats-nkey", token, "--token-file", token),
		"want nats://HOST:PORT or tls://HOST:PORT":          {"worker", "--join", "127.0.0.1:1", "--nats-nkey", token},
		"--nats-creds: " + token + ": want a user's JWT":    {"workers", "--join", at, "--nats-creds", token},
		"--join is missing":                                 {"worker"},
		"--forget is for your own NATS cluster":             {"workers", "--join", at, "--forget"},
		`--listen: "y", want HOST:PORT`:                     {"suite", "hops", "--listen", "y"},
		`--listen: "x", want HOST:PORT`:                     {"eval", trained(t), "--listen", "x"},
		"want tls://HOST:PORT#FINGERPRINT":                  {"worker", "--join", "127.0.0.1:1", "--token-file", token},
		"without TLS the token would be read":               {"worker", "--join", "nats://example.org:1", "--token-file", token},
		"the fingerprint is":                                {"worker", "--join", "tls://example.org:1#12", "--token-file", token},
		"no such file":                                      {"workers", "--join", at, "--token-file", filepath.Join(dir, "none")},
		"--data: nowhere is no folder":                      {"worker", "--join", at, "--data", "nowhere", "--token-file", token},
		"--patience is -1s":                                 {"worker", "--join", at, "--patience", "-1s", "--token-file", token},
		"--slots":                                           {"worker", "--join", at, "--slots", "0", "--token-file", token},
		"chmod 600":                                         {"workers", "--join", at, "--token-file", open},
	} {
		if want == "chmod 600" && runtime.GOOS == "windows" {
			continue
		}
		if code, _, errs := stoker(args...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("stoker %s: exit %d, %s\nwant %q", strings.Join(args, " "), code, errs, want)
		}
	}
}
