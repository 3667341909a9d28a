package eval

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/internal/must"
)

// browser is a headless browser that takes chromium's flags; the test is skipped where there is none.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no chromium or chrome is installed to open the page with")
	return ""
}

// The page opens without network and without an error in the console, and its first figure, the frontier, is drawn.
func TestReportInBrowser(t *testing.T) {
	chromium := browser(t)
	c := must.Get(Choose(catalog.Default(), []string{"rule", "autoscaler"}, "sizing/attmf", []string{"env.windows=4", "eval.seeds=1-3"}))(t)
	dir := filepath.Join(t.TempDir(), "eval")
	leave(t, c, dir)
	page := must.Get(os.ReadFile(filepath.Join(dir, ReportFile)))(t)
	// The page tells of its first figure in an element that only a script can write.
	probe := `<script>addEventListener("load", function () {
var i = document.querySelector("figure img"), b = i.getBoundingClientRect();
var p = document.createElement("p"); p.id = "seen";
p.textContent = i.alt.slice(0, 12) + "|" + (i.naturalWidth > 100 && b.width > 100 && b.top < 600);
document.body.appendChild(p); });</script></body>`
	seen := filepath.Join(dir, "seen.html")
	must.Do(t, os.WriteFile(seen, []byte(strings.Replace(string(page), "</body>", probe, 1)), 0o666))
	// The name of every host resolves to nothing.
	cmd := exec.Command(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0",
		"--host-resolver-rules=MAP * ~NOTFOUND", "--user-data-dir="+t.TempDir(), "--window-size=1000,1200", "--dump-dom", "file://"+seen)
	var said strings.Builder
	cmd.Stderr = &said
	dom, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", chromium, err, said.String())
	}
	if !strings.Contains(string(dom), `<p id="seen">The frontier|true</p>`) {
		t.Errorf("the first figure is not seen: %s", regexp.MustCompile(`<p id="seen">[^<]*`).FindString(string(dom)))
	}
	if console := regexp.MustCompile(`.*CONSOLE.*`).FindAllString(said.String(), -1); len(console) > 0 {
		t.Errorf("the console says %q", console)
	}
}
