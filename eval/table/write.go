package table

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Columns writes rows with their columns aligned, counting characters, not bytes. A row of one cell is a heading and
// may reach over other columns. Ruled draws a line below the first row.
func Columns(rows [][]string, ruled bool) string {
	var width []int
	for _, r := range rows {
		for i, cell := range r {
			if i == len(width) {
				width = append(width, 0)
			}
			if len(r) > 1 {
				width[i] = max(width[i], utf8.RuneCountInString(cell))
			}
		}
	}
	var b strings.Builder
	for k, r := range rows {
		line := ""
		for i, cell := range r {
			line += cell + strings.Repeat(" ", max(0, width[i]-utf8.RuneCountInString(cell))+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		if k == 0 && ruled {
			total := 2 * (len(width) - 1)
			for _, w := range width {
				total += w
			}
			b.WriteString(strings.Repeat("─", total) + "\n")
		}
	}
	return b.String()
}

// Markdown writes a Markdown table, the first row of which is its head.
func Markdown(b *strings.Builder, rows [][]string) {
	for k, r := range rows {
		b.WriteString("|")
		for _, cell := range r {
			b.WriteString(" " + strings.ReplaceAll(cell, "|", `\|`) + " |")
		}
		b.WriteString("\n")
		if k == 0 {
			b.WriteString("|" + strings.Repeat("---|", len(r)) + "\n")
		}
	}
}

// CSV is rows, the first of them the head, as the text of a CSV file.
func CSV(rows [][]string) ([]byte, error) {
	var b bytes.Buffer
	err := csv.NewWriter(&b).WriteAll(rows)
	return b.Bytes(), err
}

// JSON is a value as the text of a file: indented, with a newline at the end.
func JSON(v any) ([]byte, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	return append(b, '\n'), err
}
