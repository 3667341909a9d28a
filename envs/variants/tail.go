package variants

import (
	"context"
	"fmt"
)

// SolveTail answers a problem with a percentile.
func (m *Model) SolveTail(_ context.Context, p Problem) (Plan, error) {
	return Plan{}, fmt.Errorf("%s: no plan for a p%g yet, only for the mean response time", m.App.Name, p.Percentile)
}
