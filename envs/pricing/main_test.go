package pricing

import (
	"testing"

	"github.com/stoker-rl/stoker/internal/rapidtest"
)

func TestMain(m *testing.M) { rapidtest.Main(m) }
