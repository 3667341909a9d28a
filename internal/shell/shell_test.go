package shell

import (
	"os/exec"
	"strings"
	"testing"
)

// A shell reads the words that were written.
func TestLine(t *testing.T) {
	words := []string{"a", "", "a b", "it's", `"$HOME"`, "x=[1, 2]", "~", "!", "*?", "a\\b", "#c", "ä", "{a,b}", "tls://h:1#f", "a;b|c&d<e>f`g`"}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	out, err := exec.Command(sh, "-c", `printf '%s\n' `+Line(words)).Output()
	if err != nil || string(out) != strings.Join(words, "\n")+"\n" {
		t.Errorf("sh reads %q, %v", out, err)
	}
	if got := Line([]string{"stoker", "eval", "runs/x-s1", "--seeds", "1-3"}); got != "stoker eval runs/x-s1 --seeds 1-3" {
		t.Errorf("plain words are quoted: %s", got)
	}
}
