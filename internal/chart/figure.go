// Package chart draws the project's figures as PNG and SVG: panels in a grid with shared colours, a key above them that
// never covers data, and axes with few round numbers. It draws lines, bands, points and intervals with gonum/plot, and
// knows nothing of evaluation.
//
// Values that cannot be drawn (NaN, infinities, on a logarithmic axis also those that are not positive) are left out
// without an error, so that one missing value does not lose the figure.
package chart

import (
	"bytes"
	"errors"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is a grid of panels under a title and a key.
type Figure struct {
	Title string
	// Under stands below the title in smaller letters: what the figure was made of.
	Under string
	Key   []Entry
	// Panels are in row order, Columns in each row.
	Panels  []*Panel
	Columns int
	// Width and Height are the size of one panel with its labels.
	Width, Height vg.Length
}

// Entry is an entry of the key: a text and a sample of its style.
type Entry struct {
	Text  string
	Style Style
	// Line, Dot and Band say what is drawn beside the text.
	Line, Dot, Band bool
}

// Lengths of a figure's parts.
const (
	border    = vg.Length(8)
	keySample = vg.Length(22)
	keyGap    = vg.Length(14)
	keyHeight = vg.Length(15)
	panelGap  = vg.Length(12)

	underHeight = vg.Length(14)
	// dpi is the resolution of PNGs: sharp at the width of a README's column on a dense screen.
	dpi = 150
)

// PNG draws the figure at a resolution in dots per inch, in its 256 most frequent colours.
func (f *Figure) PNG(w io.Writer, dpi int) error {
	return png.Encode(w, paletted(f.image(dpi).Image()))
}

func (f *Figure) image(dpi int) *vgimg.Canvas {
	width, height := f.size()
	img := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))
	f.draw(draw.New(img), nil) // it is white already
	return img
}

// SVG draws the figure as a vector graphic. Where Liberation Sans is not installed, fonts of the same widths replace
// it.
func (f *Figure) SVG(w io.Writer) error {
	svg := vgsvg.New(f.size())
	f.draw(draw.New(svg), color.White)
	var b bytes.Buffer
	if _, err := svg.WriteTo(&b); err != nil {
		return err
	}
	_, err := w.Write(bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")))
	return err
}

// Save writes the figure into dir as name.png, name.svg and name.pdf and returns the file names.
func (f *Figure) Save(dir, name string) ([]string, error) {
	files := []string{name + ".png", name + ".svg", name + ".pdf"}
	return files, errors.Join(
		WriteFile(filepath.Join(dir, files[0]), func(w io.Writer) error { return f.PNG(w, dpi) }),
		WriteFile(filepath.Join(dir, files[1]), f.SVG),
		WriteFile(filepath.Join(dir, files[2]), f.PDF),
	)
}

func (f *Figure) columns() int { return max(1, min(f.Columns, len(f.Panels))) }

func (f *Figure) rows() int { return (len(f.Panels) + f.columns() - 1) / f.columns() }

func (f *Figure) size() (w, h vg.Length) {
	w = vg.Length(f.columns())*(f.Width+panelGap) - panelGap + 2*border
	w = max(w, writing(titleSize).Width(f.Title)+2*border, writing(tickSize).Width(f.Under)+2*border)
	h = vg.Length(f.rows())*(f.Height+panelGap) - panelGap + 2*border
	return w, h + f.head(w)
}

// head is the height of title and key.
func (f *Figure) head(width vg.Length) vg.Length {
	h := vg.Length(0)
	if f.Title != "" {
		h += titleSize + 8
	}
	if f.Under != "" {
		h += underHeight
	}
	if n := len(f.keyRows(width)); n > 0 {
		h += vg.Length(n)*keyHeight + 6
	}
	return h
}

func writing(size vg.Length) text.Style {
	return text.Style{Color: color.Black, Font: sans(size), Handler: plot.DefaultTextHandler}
}

// draw draws the figure on a background, or on what is there where that is nil.
func (f *Figure) draw(c draw.Canvas, background color.Color) {
	if background != nil {
		c.SetColor(background)
		c.Fill(c.Rectangle.Path())
	}
	width := c.Max.X - c.Min.X
	y := c.Max.Y - border
	if f.Title != "" {
		c.FillText(writing(titleSize), vg.Point{X: c.Min.X + border, Y: y - titleSize}, f.Title)
		y -= titleSize + 8
	}
	if f.Under != "" {
		s := writing(tickSize)
		s.Color = axisColour
		c.FillText(s, vg.Point{X: c.Min.X + border, Y: y - tickSize + 2}, f.Under)
		y -= underHeight
	}
	for _, row := range f.keyRows(width) {
		y -= keyHeight
		x := c.Min.X + border
		for _, e := range row {
			box := vg.Rectangle{Min: vg.Point{X: x, Y: y}, Max: vg.Point{X: x + keySample, Y: y + keyHeight}}
			e.draw(draw.Canvas{Canvas: c.Canvas, Rectangle: box})
			x += e.width()
		}
	}
	f.drawPanels(draw.Crop(c, 0, 0, 0, -f.head(width)), background)
}

// keyRows breaks the key into rows that fit.
func (f *Figure) keyRows(width vg.Length) [][]Entry {
	var rows [][]Entry
	x := width
	for _, e := range f.Key {
		if w := e.width(); x+w > width-2*border+keyGap {
			rows, x = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], e)
		x += e.width()
	}
	return rows
}

func (e Entry) width() vg.Length { return keySample + 5 + writing(labelSize).Width(e.Text) + keyGap }

// draw draws the sample into c and the text to its right.
func (e Entry) draw(c draw.Canvas) {
	mid := c.Center()
	if e.Band {
		c.SetColor(faint(e.Style.Colour))
		c.Fill(vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: mid.Y - 4}, Max: vg.Point{X: c.Max.X, Y: mid.Y + 4}}.Path())
	}
	if e.Line {
		c.StrokeLine2(e.Style.line(), c.Min.X, mid.Y, c.Max.X, mid.Y)
	}
	if e.Dot {
		c.DrawGlyph(e.Style.dot(), mid)
	}
	s := writing(labelSize)
	c.FillText(s, vg.Point{X: c.Max.X + 5, Y: mid.Y - labelSize*0.36}, e.Text)
}

func (f *Figure) drawPanels(c draw.Canvas, background color.Color) {
	cols, rows := f.columns(), f.rows()
	if len(f.Panels) == 0 {
		return
	}
	cells := make([]*plot.Plot, rows*cols)
	for i, p := range f.Panels {
		q := *p.plot // so that a figure can be drawn twice
		fit(&q.X, p.MarginX)
		fit(&q.Y, p.MarginY)
		q.BackgroundColor = background
		cells[i] = &q
	}
	grid := slices.Collect(slices.Chunk(cells, cols))
	tiles := draw.Tiles{Rows: rows, Cols: cols, PadTop: border, PadBottom: border, PadLeft: border, PadRight: border,
		PadX: panelGap, PadY: panelGap}
	for i, at := range slices.Concat(plot.Align(grid, tiles, c)...) {
		if cells[i] != nil {
			cells[i].Draw(at)
		}
	}
}

// WriteFile writes a file beside its place and renames it when it is whole: an error leaves what was there before.
func WriteFile(path string, write func(io.Writer) error) error {
	temp := filepath.Join(filepath.Dir(path), ".tmp-"+filepath.Base(path))
	f, err := os.Create(temp)
	if err != nil {
		return err
	}
	if err = errors.Join(write(f), f.Close()); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp) // the first error says more
	}
	return err
}
