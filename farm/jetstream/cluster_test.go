package jetstream

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

func TestParseCluster(t *testing.T) {
	for _, s := range []string{"nats://h:1", "tls://a:1,b:2,[::1]:3/rates"} {
		c := must.Get(ParseCluster(s))(t)
		if c.String() != s {
			t.Errorf("%s: read as %s", s, c)
		}
		if c.Open() != strings.HasPrefix(s, "nats") {
			t.Errorf("%s: open is %v", s, c.Open())
		}
	}
	if c := must.Get(ParseCluster("nats://127.0.0.1:1"))(t); c.Open() || c.Name != plain {
		t.Errorf("%+v", c)
	}
	for _, s := range []string{"", "h:1", "http://h:1", "nats://h", "nats://:1", "nats://h:", "nats://h:1,", "nats://h:1/", "nats://h:1/a.b",
		"nats://h:1/a b", "nats://u:p@h:1", "tls://h:1#12", "tls://h:1/" + strings.Repeat("a", 41)} {
		if c, err := ParseCluster(s); err == nil || !strings.Contains(err.Error(), "want nats://HOST:PORT") {
			t.Errorf("%q is read as %+v, %v", s, c, err)
		}
	}
}

// Errors of credentials name flag and file.
func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	bad, open := write("bad", "x", 0o600), write("open", "x", 0o644)
	nkey := write("seed", "# a user's\nSUAMK2FG4MI6UE3ACF3FK3OIQBCEIEZV7NSWFFEW63UXMRLFM2XLAXK4GY\n", 0o600)
	for want, c := range map[string]Credentials{
		"want one of them: a cluster":                    {CA: bad},
		"are both given":                                 {Creds: bad, NKey: nkey},
		"one is given without the other":                 {Cert: bad},
		"--nats-creds: " + bad + ": want a user's":       {Creds: bad},
		"--nats-nkey: " + bad + ": want a user's":        {NKey: bad},
		"--nats-nkey: " + open + ": others may":          {NKey: open},
		"--nats-nkey: stat " + dir + "/none":             {NKey: dir + "/none"},
		"--nats-ca: " + bad + ": want certificates":      {NKey: nkey, CA: bad},
		"--nats-key: " + open + ": others may use":       {Cert: bad, Key: open},
		"--nats-key: " + bad + " and --nats-cert " + bad: {Cert: bad, Key: bad},
	} {
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	c := Credentials{NKey: nkey}
	must.Do(t, c.Check())
	if f := c.Files(); len(f) != 1 || f[0].Flag != "nats-nkey" || f[0].Path != nkey {
		t.Errorf("files %v", f)
	}
}
