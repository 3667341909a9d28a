package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// Settings is a configuration as text, by which states of other configurations are told: its JSON without the keys that
// are at their defaults. A key that comes later leaves the text of a configuration without it as it is.
func Settings(config, defaults any) string {
	c, err := tree(config)
	d, err2 := tree(defaults)
	if err != nil || err2 != nil { // a number that JSON does not have
		return fmt.Sprintf("%+v", config)
	}
	text, err := json.Marshal(changed(c, d))
	if err != nil {
		return fmt.Sprintf("%+v", config)
	}
	return string(text)
}

// tree is a value as JSON has it, numbers as they are written.
func tree(x any) (out any, err error) {
	text, err := json.Marshal(x)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	err = dec.Decode(&out)
	return orNull(out), err
}

// orNull makes null of what is empty: a list that a file gave may be empty where a default has none.
func orNull(x any) any {
	switch x := x.(type) {
	case []any:
		if len(x) == 0 {
			return nil
		}
		for i := range x {
			x[i] = orNull(x[i])
		}
	case map[string]any:
		if len(x) == 0 {
			return nil
		}
		for key := range x {
			x[key] = orNull(x[key])
		}
	}
	return x
}

// changed leaves out the keys of x that are as in y; a key that y alone has is null.
func changed(x, y any) any {
	a, ok := x.(map[string]any)
	b, both := y.(map[string]any)
	if !ok || !both {
		return x
	}
	out := map[string]any{}
	for key, v := range a {
		if !reflect.DeepEqual(v, b[key]) {
			out[key] = changed(v, b[key])
		}
	}
	for key, w := range b {
		if _, there := a[key]; !there && w != nil {
			out[key] = nil
		}
	}
	return out
}
