package crossentropy

import (
	"strings"
	"testing"
)

// A file is read under the key of today and under that of before; one of another baseline is refused.
func TestParse(t *testing.T) {
	type config struct {
		Weight float64 `json:"weight"`
	}
	for _, key := range []string{"baseline", "rival"} {
		c, err := Parse[config]("rule", "rule.json", []byte(`{"`+key+`": "rule", "config": {"weight": 2}}`))
		if err != nil || c.Weight != 2 {
			t.Errorf("key %s: %+v, error %v", key, c, err)
		}
	}
	_, err := Parse[config]("rule", "as.json", []byte(`{"baseline": "autoscaler"}`))
	if want := `rule: file as.json is of baseline "autoscaler"`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}
