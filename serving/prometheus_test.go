package serving_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/serving"
	"github.com/stoker-rl/stoker/tools/proof"
)

// prometheus starts Prometheus on a server's metrics.
func prometheus(t *testing.T) {
	r := start(t, []string{"faasconf"}, nil, serving.Files{})
	p, all := seen(t, "faasconf")
	for range 3 {
		if status, body, _ := r.send(t, "POST", faasconf+"/infer", `{"inputs":[`+vectors(p, all...)+`]}`); status != 200 {
			t.Fatal(body)
		}
	}
	_, text, _ := r.send(t, "GET", "/metrics", "")
	lint := exec.Command("promtool", "check", "metrics")
	lint.Stdin = strings.NewReader(text)
	if out, err := lint.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
	dir := t.TempDir()
	config := fmt.Sprintf("global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: stoker\n  static_configs: [{targets: ['%s']}]\n", r.http)
	write(t, filepath.Join(dir, "prometheus.yml"), []byte(config))
	var log lockedBuffer
	cmd := exec.Command("prometheus", "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+dir,
		"--web.listen-address=127.0.0.1:0")
	cmd.Stderr = &log
	must.Do(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	log.wait("Listening on")
	address := regexp.MustCompile(`"Listening on" address=(\S+)`).FindStringSubmatch(log.String())[1]
	transcript := ""
	for _, c := range [][2]string{
		{`up{job="stoker"}`, `"1"`}, {`stoker_requests_total{model="faasconf",protocol="http"}`, `"3"`},
		{`sum(stoker_decisions_total{by="policy"})`, fmt.Sprintf("%q", fmt.Sprint(3*len(all)))},
		{`histogram_quantile(0.99, sum by (le) (stoker_request_seconds_bucket{protocol="http"})) > 0`, `"value":[`},
		{`count(stoker_feature_drift{model="faasconf"})`, `"37"`},
		{`stoker_model_info`, p.Digest()},
	} {
		var got string
		for !strings.Contains(got, c[1]) { // it scrapes every second, and tells nobody when
			time.Sleep(100 * time.Millisecond)
			res, err := http.Get("http://" + address + "/api/v1/query?query=" + url.QueryEscape(c[0]))
			if err != nil {
				continue
			}
			b, _ := io.ReadAll(res.Body)
			res.Body.Close()
			got = string(b)
		}
		transcript += c[0] + "\n  " + got + "\n"
	}
	t.Log(transcript)
	if dir := os.Getenv(proof.Folder); dir != "" {
		must.Do(t, os.WriteFile(filepath.Join(dir, "prometheus.txt"), []byte(transcript), 0o600))
	}
}
