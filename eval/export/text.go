package export

import (
	"fmt"
	"strings"
)

// Text says for people what was collected and written.
func (c *Collected) Text(files []Written) string {
	var b strings.Builder
	p := c.File.Provenance
	fmt.Fprintf(&b, "%s: %s in %s, seed %s, %d steps\n", c.Name, c.File.Agent.Name, c.File.Environment.ID, list(p.Seeds),
		p.Steps)
	fmt.Fprintf(&b, "evaluation: %s\n", evaluation(c.File).Detail)
	if f := c.File.Fallback; f != nil {
		fmt.Fprintf(&b, "fallback: %s\n", f.Name)
	} else {
		fmt.Fprintf(&b, "fallback: none; where the policy must not decide, nothing decides\n")
	}
	for _, f := range files {
		what := "wrote"
		if f.Unchanged {
			what = "unchanged"
		}
		fmt.Fprintf(&b, "%s %s (%s, %d kB, sha256:%s)\n", what, f.File, f.Format, (f.Bytes+999)/1000, f.Digest)
		if a := f.Agreement; a != nil {
			fmt.Fprintf(&b, "  opened again: %d observations, %d unequal actions, largest difference %.2g, "+
				"%d decided by the fallback\n",
				a.Observations, a.Unequal, a.Largest, a.Fallbacks)
		}
	}
	for _, f := range files {
		if f.Format == Bundle {
			fmt.Fprintf(&b, "look inside: stoker check %s\n", f.File)
		}
	}
	return b.String()
}
