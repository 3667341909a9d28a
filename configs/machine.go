package configs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/envs/workflow/asl"
)

// Machine is what a state machine of AWS Step Functions does not say of an application.
type Machine struct {
	// Profiles is a CSV file of measured runs of its functions, by the names of their Lambda functions or of their states.
	Profiles string
	// Facts is a YAML file of probabilities, items and waits ([asl.ReadFacts]); Percent reads choices that compare a number
	// as percentages.
	Facts   string
	Percent bool
	// Tariff and Orchestration are as in [variants.App].
	Tariff        string
	Orchestration bill.Orchestration
}

// IsMachine reports whether a file is a state machine: its name ends in .json and it has StartAt.
func IsMachine(path string) bool {
	text, err := ReadFile(path)
	return err == nil && strings.HasSuffix(path, ".json") && bytes.Contains(text, []byte(`"StartAt"`))
}

// ReadMachine reads a state machine as an application: each function has the memory sizes at which it was measured.
func ReadMachine(path string, k Machine) (*variants.Model, error) {
	if k.Profiles == "" {
		return nil, fmt.Errorf("%s: a state machine says nothing about its functions' times: name a CSV file of measured runs "+
			"(function, memory, ms)", path)
	}
	o := asl.Options{Percent: k.Percent}
	if k.Facts != "" {
		f, err := os.Open(k.Facts)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if o.Facts, err = asl.ReadFacts(f); err != nil {
			return nil, fmt.Errorf("%s: %w", k.Facts, err)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	machine, err := asl.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "asl: "))
	}
	flow, err := machine.Workflow(o)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "asl: "))
	}
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	a := variants.App{Name: name, Workflow: flow.Graph, Delays: workflow.StepFunctions(workflow.Once), Tariff: k.Tariff,
		Orchestration: k.Orchestration, Profiles: k.Profiles, Transitions: flow.Transitions}
	a.Workflow.Name = name
	for _, fn := range flow.Functions {
		f := variants.Function{Name: fn.Name, Fixed: fn.Fixed, Seconds: fn.Seconds}
		if fn.Lambda != "" && fn.Lambda != fn.Name {
			f.Variants = []variants.Variant{{Name: fn.Lambda}}
		}
		a.Functions = append(a.Functions, f)
	}
	m, err := a.Compile()
	var e *bounds.Error
	if errors.As(err, &e) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, err
}
