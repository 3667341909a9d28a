//go:build !farm

package jetstream

import (
	"context"

	"github.com/stoker-rl/stoker/farm"
)

// Listen fails with ErrLeftOut.
func Listen(context.Context, ListenOptions) (farm.Farm, farm.Address, error) {
	return nil, farm.Address{}, ErrLeftOut
}

// Forget fails with ErrLeftOut.
func Forget(context.Context, *Cluster) error { return ErrLeftOut }

// Join fails with ErrLeftOut.
func Join(context.Context, JoinOptions) (farm.Farm, Study, error) { return nil, Study{}, ErrLeftOut }
