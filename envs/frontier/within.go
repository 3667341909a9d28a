package frontier

import (
	"context"
	"fmt"
)

// Within returns configurations such that every point of the exact front has one among them that is worse by at most a
// factor 1+gap in time and in price. It fails as [Exact] does, and if the gap is not above 0.
func Within(ctx context.Context, p Problem, gap float64) (Front, error) {
	if !(gap > 0 && gap <= 1) {
		return nil, fmt.Errorf("frontier: the gap is %v, want a number in (0, 1]", gap)
	}
	return solve(ctx, p, gap)
}
