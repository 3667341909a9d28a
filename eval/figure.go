package eval

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// palette is Okabe and Ito's, which colour-blind readers can tell apart.
var palette = []color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {230, 159, 0, 255}, {86, 180, 233, 255}, {90, 90, 90, 255},
}

var dashes = [][]vg.Length{nil, {vg.Points(6), vg.Points(3)}, {vg.Points(2), vg.Points(2)}}

func colour(i int) color.RGBA { return palette[i%len(palette)] }

// faint is a colour for bands beneath lines.
func faint(c color.RGBA) color.Color { return color.NRGBA{c.R, c.G, c.B, 50} }

func line(i int, xys plotter.XYs) (*plotter.Line, error) {
	l, err := plotter.NewLine(xys)
	if err != nil {
		return nil, err
	}
	l.Color = colour(i)
	l.Width = vg.Points(1.5)
	l.Dashes = dashes[(i/len(palette))%len(dashes)]
	return l, nil
}

func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.Title.Padding = vg.Points(6)
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.DefaultTicks{}, plot.DefaultTicks{}
	p.Legend.Top = true
	p.Legend.Padding = vg.Points(2)
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Color = color.Gray{230}, color.Gray{230}
	p.Add(g)
	return p
}

// label is a quantity with its unit.
func label(m Metric) string {
	if m.Unit == "" || m.Unit == "1" {
		return m.Name
	}
	return fmt.Sprintf("%s (%s)", m.Name, m.Unit)
}

// size of a figure of one panel.
const (
	figureWidth  = 7 * vg.Inch
	panelHeight  = 4.2 * vg.Inch
	resolution   = 110 // dots per inch of the PNG
	betweenPanel = 12
)

// save draws panels, one below the other, as name.png and name.svg, and returns the file names.
func save(dir, name string, panels ...*plot.Plot) ([]string, error) {
	height := panelHeight
	if len(panels) > 1 {
		height = vg.Length(len(panels)) * panelHeight * 0.75
	}
	img := vgimg.NewWith(vgimg.UseWH(figureWidth, height), vgimg.UseDPI(resolution))
	drawPanels(draw.New(img), panels)
	svg := vgsvg.New(figureWidth, height)
	drawPanels(draw.New(svg), panels)
	files := []string{name + ".png", name + ".svg"}
	return files, errors.Join(
		writeTo(filepath.Join(dir, files[0]), vgimg.PngCanvas{Canvas: img}),
		writeTo(filepath.Join(dir, files[1]), svg),
	)
}

func drawPanels(c draw.Canvas, panels []*plot.Plot) {
	grid := make([][]*plot.Plot, len(panels))
	for i, p := range panels {
		grid[i] = []*plot.Plot{p}
	}
	tiles := draw.Tiles{Rows: len(panels), Cols: 1, PadTop: vg.Points(4), PadBottom: vg.Points(4), PadLeft: vg.Points(4),
		PadRight: vg.Points(14), PadY: vg.Points(betweenPanel)}
	for i, row := range plot.Align(grid, tiles, c) {
		panels[i].Draw(row[0])
	}
}

func writeTo(path string, w io.WriterTo) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = w.WriteTo(f)
	return errors.Join(err, f.Close())
}
