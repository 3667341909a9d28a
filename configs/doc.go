// Package configs reads experiments: one YAML file says what world is faced, who learns in it, for how long, and how
// the result is evaluated.
//
// Reading is strict: an unknown or ill-typed key is an error with file, line, what stands there and what is allowed.
// Keys can be set over the file (--set key=value). The sections env and agent have the keys of the environment and the
// agent that they name; who those are is told by [Tables], so that this package knows no environment and no agent.
//
// Applications of package variants are read the same way ([ReadApp]).
//
// The experiments shipped with Stoker are embedded and found by their path, as in sizing/attmf.yaml.
package configs
