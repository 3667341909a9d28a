package wire

import (
	"encoding/json"
	"fmt"
	"unsafe"
)

// scanner reads JSON in place. encoding/json would first copy every tensor, and does not say which number is wrong.
type scanner struct {
	b  []byte
	at int
}

// space skips white space and returns the byte that follows, 0 at the end.
func (s *scanner) space() byte {
	for s.at < len(s.b) {
		switch c := s.b[s.at]; c {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// found says what stands at the present place, for errors.
func (s *scanner) found() string {
	if s.at >= len(s.b) {
		return "the end"
	}
	return fmt.Sprintf("%q at byte %d", s.b[s.at:min(len(s.b), s.at+12)], s.at)
}

func (s *scanner) expect(c byte) error {
	if s.space() != c {
		return fmt.Errorf("%s, want %q", s.found(), string(c))
	}
	s.at++
	return nil
}

// next moves to the next entry of an array or object that close ends: false where it has ended.
func (s *scanner) next(first bool, close byte) (bool, error) {
	c := s.space()
	switch {
	case c == close:
		s.at++
		return false, nil
	case first:
		return true, nil
	case c == ',':
		s.at++
		if s.space() == close {
			return false, fmt.Errorf("%s, want a value after the comma", s.found())
		}
		return true, nil
	}
	return false, fmt.Errorf("%s, want a comma or %q", s.found(), string(close))
}

// object calls value for each key of an object; it must read the key's value.
func (s *scanner) object(value func(key string) error) error {
	if err := s.expect('{'); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := s.next(first, '}')
		if !more || err != nil {
			return err
		}
		key, err := s.text()
		if err != nil {
			return err
		}
		if err := s.expect(':'); err != nil {
			return fmt.Errorf("after the key %q: %w", key, err)
		}
		if err := value(key); err != nil {
			return err
		}
	}
}

// array calls value for each entry of an array; it must read the entry.
func (s *scanner) array(value func(i int) error) error {
	if err := s.expect('['); err != nil {
		return err
	}
	for i := 0; ; i++ {
		more, err := s.next(i == 0, ']')
		if !more || err != nil {
			return err
		}
		if err := value(i); err != nil {
			return err
		}
	}
}

// text reads a string. It is part of the body where it has no escapes.
func (s *scanner) text() (string, error) {
	if s.space() != '"' {
		return "", fmt.Errorf("%s, want a string", s.found())
	}
	start, plain := s.at, true
	for s.at++; s.at < len(s.b); s.at++ {
		switch c := s.b[s.at]; {
		case c == '"':
			s.at++
			if plain {
				return view(s.b[start+1 : s.at-1]), nil
			}
			var out string
			if err := json.Unmarshal(s.b[start:s.at], &out); err != nil {
				return "", fmt.Errorf("string at byte %d: %w", start, err)
			}
			return out, nil
		case c == '\\':
			plain = false
			s.at++
		case c < ' ':
			return "", fmt.Errorf("string at byte %d has a control character", start)
		case c >= 0x80:
			plain = false // encoding/json replaces what is no UTF-8
		}
	}
	return "", fmt.Errorf("string at byte %d has no end", start)
}

// number reads a number and returns its text.
func (s *scanner) number() (string, error) {
	s.space()
	start := s.at
	if s.at < len(s.b) && s.b[s.at] == '-' {
		s.at++
	}
	whole := s.digits()
	if whole == 0 || whole > 1 && s.b[s.at-whole] == '0' {
		s.at = start
		return "", fmt.Errorf("%s, want a number", s.found())
	}
	if s.at < len(s.b) && s.b[s.at] == '.' {
		s.at++
		if s.digits() == 0 {
			return "", fmt.Errorf("%s, want digits after the point", s.found())
		}
	}
	if s.at < len(s.b) && (s.b[s.at] == 'e' || s.b[s.at] == 'E') {
		s.at++
		if s.at < len(s.b) && (s.b[s.at] == '+' || s.b[s.at] == '-') {
			s.at++
		}
		if s.digits() == 0 {
			return "", fmt.Errorf("%s, want digits after the exponent", s.found())
		}
	}
	return view(s.b[start:s.at]), nil
}

func (s *scanner) digits() int {
	start := s.at
	for s.at < len(s.b) && s.b[s.at] >= '0' && s.b[s.at] <= '9' {
		s.at++
	}
	return s.at - start
}

// boolean reads true or false.
func (s *scanner) boolean() (bool, error) {
	s.space()
	switch {
	case s.word("true"):
		return true, nil
	case s.word("false"):
		return false, nil
	}
	return false, fmt.Errorf("%s, want true or false", s.found())
}

// word takes a word where it stands at the present place.
func (s *scanner) word(w string) bool {
	if len(s.b)-s.at < len(w) || view(s.b[s.at:s.at+len(w)]) != w {
		return false
	}
	s.at += len(w)
	return true
}

// numbers skips an array quickly: of numbers, words and arrays alone, whose grammar is checked when they are read.
func (s *scanner) numbers() ([]byte, error) {
	if s.space() != '[' {
		return nil, fmt.Errorf("%s, want an array", s.found())
	}
	depth, start := 0, s.at
	for ; s.at < len(s.b); s.at++ {
		switch s.b[s.at] {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				s.at++
				return s.b[start:s.at], nil
			}
		case '"', '{', '}':
			return nil, fmt.Errorf("%s, want numbers, true or false", s.found())
		}
	}
	return nil, fmt.Errorf("the array at byte %d has no end", start)
}

// view is bytes as a string without a copy: it lives as long as the body does.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
