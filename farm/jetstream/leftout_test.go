//go:build !farm

package jetstream

import (
	"errors"
	"testing"
)

func TestLeftOut(t *testing.T) {
	_, _, listen := Listen(t.Context(), ListenOptions{})
	_, _, join := Join(t.Context(), JoinOptions{})
	if !errors.Is(listen, ErrLeftOut) || !errors.Is(join, ErrLeftOut) {
		t.Errorf("Listen: %v, Join: %v, want %v", listen, join, ErrLeftOut)
	}
}
