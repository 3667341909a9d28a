package wire

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of fields in the protocol's ModelInferRequest, InferInputTensor and InferTensorContents.
const (
	messageInputs, messageOutputs, messageRaw, messageParams = 5, 6, 7, 4
	inputShape, inputParams, inputContents, outputParams     = 3, 4, 5, 2
	contentsBools, contentsInts, contentsFloats              = 1, 3, 6
)

// MessageBytes is about what a ModelInferRequest takes when it is decoded. It is an error where the message has more
// inputs, outputs or parameters than are allowed, or kinds of numbers that no model reads: small messages of these could
// take much memory.
func MessageBytes(message []byte) (int64, error) {
	const each = 256 // bytes of an input, an output or a parameter
	total := int64(len(message))
	var counts [8]int
	err := fields(message, func(n protowire.Number, value []byte) error {
		if n < messageParams || n > messageRaw {
			return nil
		}
		total += each
		if counts[n]++; counts[n] > maxInputs {
			return fmt.Errorf("the message has more than %d inputs, outputs or parameters of a kind", maxInputs)
		}
		params, sizes := 0, 0
		param := func() error {
			if total, params = total+each, params+1; params > maxInputs {
				return fmt.Errorf("more than %d parameters", maxInputs)
			}
			return nil
		}
		switch n {
		case messageOutputs:
			return at(fields(value, func(n protowire.Number, _ []byte) error {
				if n == outputParams {
					return param()
				}
				return nil
			}), "outputs[%d]", counts[n]-1)
		case messageParams, messageRaw:
			return nil
		}
		return at(fields(value, func(n protowire.Number, value []byte) error {
			switch n {
			case inputShape: // a size has one to ten bytes
				n := max(1, len(value))
				if total, sizes = total+16*int64(n), sizes+n; sizes > 10*8 {
					return errors.New("shape has more than 8 sizes")
				}
			case inputParams:
				return param()
			case inputContents:
				return fields(value, func(n protowire.Number, value []byte) error {
					switch n {
					case contentsBools, contentsInts, contentsFloats:
						total += 16 * int64(max(1, len(value)))
						return nil
					}
					return fmt.Errorf("contents has field %d, want bool_contents, int64_contents or fp32_contents", n)
				})
			}
			return nil
		}), "inputs[%d]", counts[n]-1)
	})
	return total, err
}

// fields goes over the fields of a message: value is nil for those without a length.
func fields(message []byte, do func(n protowire.Number, value []byte) error) error {
	for len(message) > 0 {
		n, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return protowire.ParseError(size)
		}
		message = message[size:]
		var value []byte
		if kind == protowire.BytesType {
			value, size = protowire.ConsumeBytes(message)
		} else {
			size = protowire.ConsumeFieldValue(n, kind, message)
		}
		if size < 0 {
			return protowire.ParseError(size)
		}
		if err := do(n, value); err != nil {
			return err
		}
		message = message[size:]
	}
	return nil
}
