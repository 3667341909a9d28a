package envs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ParseJSON reads one JSON value that a client sent into a value of Go. An unknown key, and anything after the value, is
// an error, so that a misspelt measurement does not pass for one that is 0.
func ParseJSON(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("the text is empty, want a JSON value")
		}
		return fmt.Errorf("not the JSON that is expected: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("there is more after the JSON value, at byte %d", d.InputOffset())
	}
	return nil
}
