package cli

import (
	"testing"
)

func TestSchema(t *testing.T) {
	code, out, errs := stoker("train", "--schema")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	s := decode[struct {
		Required   []string       `json:"required"`
		Properties map[string]any `json:"properties"`
	}](t, out)
	for _, key := range s.Required {
		if s.Properties[key] == nil {
			t.Errorf("%s is required and not described", key)
		}
	}
	if code, _, errs := stoker("train", "--schema", "configs/classic/lqr.yaml"); code != exitUsage {
		t.Errorf("with a configuration: exit %d, %s", code, errs)
	}
}
