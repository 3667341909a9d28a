package core_test

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/nets/internal/core"
)

func says(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one that says %q", err, want)
	}
}

func TestAClosedEngineRefusesEveryOperation(t *testing.T) {
	s := core.Named("device")
	if s.Stopped("Add") || s.Err() != nil {
		t.Error("a new engine is stopped")
	}
	s.Fail("Add", "no tensor")
	s.Fail("Copy", "no tensor either")
	if !s.Stopped("Lerp") {
		t.Error("an engine that failed goes on")
	}
	says(t, s.Err(), "nets/device: Add: no tensor")
	if s.Stopped("Add") {
		t.Error("a failure was not forgotten")
	}
	if !s.Close() || s.Close() || !s.Closed() {
		t.Error("an engine is closed once")
	}
	for _, op := range []string{"Add", "Copy"} {
		if !s.Stopped(op) {
			t.Errorf("%s runs on a closed engine", op)
		}
		says(t, s.Err(), "nets/device: "+op+": the engine is closed")
	}
}

func TestCompareNamesTheFirstDifference(t *testing.T) {
	for _, c := range []struct {
		before, now []string
		want        string
	}{
		{[]string{"a", "b"}, []string{"a", "c"}, "operation 2 is c, before it was b"},
		{[]string{"a", "b"}, []string{"a"}, "operation 2 is the end, before it was b"},
		{nil, []string{"a"}, "operation 1 is a, before it was the end"},
	} {
		s := core.Named("device")
		s.Compare(c.before, c.now)
		says(t, s.Err(), c.want)
		s.Compare(c.before, c.before)
		if err := s.Err(); err != nil {
			t.Errorf("equal lists differ: %v", err)
		}
	}
}
