package suite

import (
	"bytes"

	"github.com/stoker-rl/stoker/internal/chart"
)

// drawn is a figure as PNG with a palette, a third of the size of one without: a chart has few colours, and its
// edges' many shades are moved to the nearest of the most frequent ones.
func drawn(f *chart.Figure) ([]byte, error) {
	var whole bytes.Buffer
	if err := f.PNG(&whole, dpi); err != nil {
		return nil, err
	}
	return chart.CompactPNG(whole.Bytes())
}
