package nets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// EncodeArch returns the description as JSON with its kind: {"kind": "mlp", "arch": {…}}.
func EncodeArch(a Arch) ([]byte, error) {
	if a == nil {
		return nil, errors.New("nets: no architecture to encode")
	}
	return json.Marshal(struct {
		Kind string `json:"kind"`
		Arch Arch   `json:"arch"`
	}{a.Kind(), a})
}

// DecodeArch reads a description written by EncodeArch and validates it. Unknown kinds and fields are errors.
func DecodeArch(b []byte) (Arch, error) {
	var env struct {
		Kind string          `json:"kind"`
		Arch json.RawMessage `json:"arch"`
	}
	if err := strict(b, &env); err != nil {
		return nil, fmt.Errorf("nets: architecture: %w", err)
	}
	switch env.Kind {
	case MLP{}.Kind():
		return decodeInto[MLP](env.Arch)
	case MeanField{}.Kind():
		return decodeInto[MeanField](env.Arch)
	case GumbelSoftmax{}.Kind():
		return decodeInto[GumbelSoftmax](env.Arch)
	case SquashedGaussian{}.Kind():
		return decodeInto[SquashedGaussian](env.Arch)
	case SoftValue{}.Kind():
		return decodeInto[SoftValue](env.Arch)
	case Graph{}.Kind():
		return decodeInto[Graph](env.Arch)
	}
	return nil, fmt.Errorf("nets: architecture kind %q is not known to this version", env.Kind)
}

func decodeInto[A Arch](b []byte) (Arch, error) {
	var a A
	if err := strict(b, &a); err != nil {
		return nil, fmt.Errorf("nets: architecture %s: %w", a.Kind(), err)
	}
	if err := a.Validate(); err != nil {
		return nil, err
	}
	return a, nil
}

// strict decodes exactly one JSON value whose fields are all known.
func strict(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err == io.EOF {
		return errors.New("nothing here, want a JSON object")
	} else if err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more follows after the JSON object")
	}
	return nil
}
