package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/foreign"
)

// elsewhere names policies that were trained elsewhere.
type elsewhere struct {
	policies, groups []string
	foreign.Options
}

func (e *elsewhere) flags() []flag {
	e.Python, e.Timeout = "python3", 10*time.Second
	return []flag{
		option(repeated{&e.policies}, "policy", "`NAME=WHAT`, a policy that was trained elsewhere: x.stoker, x.onnx, "+
			"http[s]://HOST/v2/models/M, grpc[s]://HOST/M or cmd:COMMAND (repeatable)").by(namedPolicies),
		option(repeated{&e.groups}, "group", "`NAME`, or NAME=A,B: all of --policy, or A and B, are training seeds of one "+
			"method NAME (repeatable)"),
		option(&e.Python, "python", "the Python that runs ONNX files"),
		option(&e.Bind, "bind", "names in ONNX files and what they are, as in obs=observation,24=action"),
		option(&e.Timeout, "policy-timeout", "how long an answer of a policy of --policy may take"),
	}
}

// namedPolicies completes by the kinds of policies behind a name.
func namedPolicies(_ *call, prefix string) (out []string, _ cobra.ShellCompDirective) {
	name, _, ok := strings.Cut(prefix, "=")
	if !ok {
		return nil, goesOn
	}
	for _, what := range []string{"cmd:", "http://", "https://", "grpc://", "grpcs://"} {
		out = append(out, name+"="+what)
	}
	return out, orFiles
}

// list are the policies, by the names that groups give them.
func (e *elsewhere) list(c *call) ([]eval.Elsewhere, error) {
	if len(c.args) == 0 && len(e.policies) == 0 {
		return nil, usage("what to compare, a run, checkpoint or policy, is missing\nusage: %s", c.usage())
	}
	if len(e.policies) == 0 {
		return nil, c.without("is of policies of --policy, and there is none", "group", "python", "bind", "policy-timeout")
	}
	if e.Timeout <= 0 {
		return nil, usage("--policy-timeout: %v, want a time above 0, as in 10s", e.Timeout)
	}
	var out []eval.Elsewhere
	for _, text := range e.policies {
		name, what, ok := strings.Cut(text, "=")
		if !ok || name == "" || what == "" || strings.ContainsAny(name, "/:") {
			return nil, usage("--policy: %q, want NAME=WHAT, as in mine=x.onnx", text)
		}
		if slices.ContainsFunc(out, func(o eval.Elsewhere) bool { return o.Name == name }) {
			return nil, usage("--policy: %s is named twice; training seeds of one method have names of their own, and --group "+
				"joins them", name)
		}
		out = append(out, eval.Elsewhere{Name: name, What: what, Open: func(spec *envs.Spec) (*foreign.Policy, error) {
			return foreign.Open(c.ctx, what, spec, e.Options)
		}})
	}
	return out, e.join(out)
}

// join gives policies the names of their groups.
func (e *elsewhere) join(all []eval.Elsewhere) error {
	single := make([]string, len(all))
	for i := range all {
		single[i] = all[i].Name
	}
	for _, g := range e.groups {
		name, list, some := strings.Cut(g, "=")
		members := single
		if some {
			members = strings.Split(list, ",")
		}
		for _, m := range members {
			i := slices.Index(single, m)
			if i < 0 || name == "" {
				return usage("--group: %q, want NAME, or NAME=A,B of the policies %s", g, strings.Join(single, ", "))
			}
			all[i].Name = name
		}
	}
	return nil
}
