package envs

import (
	"strings"
	"testing"
)

func TestParseJSON(t *testing.T) {
	var v struct {
		A int `json:"a"`
	}
	if err := ParseJSON([]byte(" {\"a\": 3}\n"), &v); err != nil || v.A != 3 {
		t.Errorf("a is %d: %v", v.A, err)
	}
	for text, want := range map[string]string{
		"": "empty", "{": "unexpected EOF", `{"b": 1}`: `unknown field "b"`, `{"a": 1} 2`: "more after the JSON value",
		`{"a": "x"}`: "of type int",
	} {
		if err := ParseJSON([]byte(text), &v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
