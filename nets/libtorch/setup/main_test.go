package main

import (
	"context"
	"testing"
)

func TestExitCodes(t *testing.T) {
	t.Setenv("LIBTORCH", "")
	t.Setenv("STOKER_TORCH", "")
	t.Setenv("PATH", t.TempDir()) // nothing is run
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		args []string
		want int
	}{
		{t.Context(), []string{"-help"}, 0},
		{t.Context(), []string{"-status", "-cache", t.TempDir()}, 0},
		{t.Context(), []string{"-nope"}, 2},
		{t.Context(), []string{"now"}, 2},
		{t.Context(), []string{"-libtorch", t.TempDir(), "-cache", t.TempDir()}, 1},
		{stopped, []string{"-cache", t.TempDir()}, 130},
	} {
		if got := run(c.ctx, c.args); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.args, got, c.want)
		}
	}
}
