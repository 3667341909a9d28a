package tensorboard

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of the messages used, from TensorBoard's compat/proto (event, summary, tensor) and
// plugins/hparams (plugin_data, api), and of google.protobuf.Value.
const (
	eventWallTime, eventStep, eventFileVersion, eventSummary, eventSessionLog = 1, 2, 3, 5, 7

	sessionLogStatus, sessionLogStart = 1, 1

	summaryValue                                             = 1
	valueTag, valueSimple, valueTensor, valueMetadata        = 1, 2, 8, 9
	metadataPlugin, metadataClass, pluginName, pluginContent = 1, 4, 1, 2
	classTensor                                              = 2
	tensorType, tensorShape, tensorFloats, tensorStrings     = 1, 2, 5, 8
	typeFloat, typeString                                    = 1, 7
	shapeDim, dimSize                                        = 2, 1
	hparamsExperiment, hparamsStart, hparamsEnd              = 2, 3, 4
	startHParams, startTime, endStatus, endTime              = 1, 5, 1, 2
	mapKey, mapValue, valueNumber, valueString, valueBool    = 1, 2, 2, 3, 4
	experimentTime, experimentHParam, experimentMetric       = 3, 4, 5
	hparamName, hparamType, metricName, metricNameTag        = 1, 4, 1, 2
	hparamTypeString, hparamTypeBool, hparamTypeFloat        = 1, 2, 3
)

// fileVersion is what the first event of every file says.
const fileVersion = "brain.Event:2"

func appendDouble(b []byte, field protowire.Number, v float64) []byte {
	b = protowire.AppendTag(b, field, protowire.Fixed64Type)
	return protowire.AppendFixed64(b, math.Float64bits(v))
}

func appendFloat(b []byte, field protowire.Number, v float32) []byte {
	b = protowire.AppendTag(b, field, protowire.Fixed32Type)
	return protowire.AppendFixed32(b, math.Float32bits(v))
}

func appendInt(b []byte, field protowire.Number, v int64) []byte {
	b = protowire.AppendTag(b, field, protowire.VarintType)
	return protowire.AppendVarint(b, uint64(v))
}

func appendString(b []byte, field protowire.Number, s string) []byte {
	b = protowire.AppendTag(b, field, protowire.BytesType)
	return protowire.AppendString(b, s)
}

func appendMessage(b []byte, field protowire.Number, m []byte) []byte {
	b = protowire.AppendTag(b, field, protowire.BytesType)
	return protowire.AppendBytes(b, m)
}

// appendEvent starts an event: its time in seconds since 1970 and its step.
func appendEvent(b []byte, wall float64, step int64) []byte {
	b = appendDouble(b, eventWallTime, wall)
	if step != 0 {
		b = appendInt(b, eventStep, step)
	}
	return b
}

// appendScalar appends a summary of one number. It computes the lengths of the messages around it beforehand, so
// that nothing is allocated. The number goes as simple_value, as Stable-Baselines3 and PyTorch write it.
func appendScalar(b []byte, tag string, v float32) []byte {
	size := protowire.SizeTag(valueTag) + protowire.SizeBytes(len(tag)) + protowire.SizeTag(valueSimple) + protowire.SizeFixed32()
	b = protowire.AppendTag(b, eventSummary, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(protowire.SizeTag(summaryValue)+protowire.SizeBytes(size)))
	b = protowire.AppendTag(b, summaryValue, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))
	b = appendString(b, valueTag, tag)
	return appendFloat(b, valueSimple, v)
}

// appendValue appends a summary of one value whose fields behind the tag are rest.
func appendValue(b []byte, tag string, rest []byte) []byte {
	value := append(appendString(nil, valueTag, tag), rest...)
	return appendMessage(b, eventSummary, appendMessage(nil, summaryValue, value))
}

// appendPlugin appends a value's metadata: the plugin that shows it and that plugin's own data.
func appendPlugin(b []byte, name string, content []byte) []byte {
	plugin := appendString(nil, pluginName, name)
	if len(content) > 0 {
		plugin = appendMessage(plugin, pluginContent, content)
	}
	meta := appendInt(appendMessage(nil, metadataPlugin, plugin), metadataClass, classTensor)
	return appendMessage(b, valueMetadata, meta)
}

// appendText appends a tensor of one string.
func appendText(b []byte, text string) []byte {
	t := appendInt(nil, tensorType, typeString)
	t = appendMessage(t, tensorShape, appendMessage(nil, shapeDim, appendInt(nil, dimSize, 1)))
	t = appendString(t, tensorStrings, text)
	return appendMessage(b, valueTensor, t)
}

// appendNull appends the tensor that stands where a value has none: one float, zero.
func appendNull(b []byte) []byte {
	t := appendInt(nil, tensorType, typeFloat)
	t = appendMessage(t, tensorShape, nil)
	t = appendMessage(t, tensorFloats, protowire.AppendFixed32(nil, 0))
	return appendMessage(b, valueTensor, t)
}

// A TFRecord is the length of its data (8 bytes, little-endian), the masked CRC-32C of these 8 bytes, the data, and the
// masked CRC-32C of the data.
const recordHead = 12

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked returns a CRC as TFRecords store it: rotated and offset, so that a CRC over data with CRCs in it stays a
// good one.
func masked(data []byte) uint32 {
	c := crc32.Checksum(data, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// sealRecord completes a record whose data stands in b behind recordHead bytes left free.
func sealRecord(b []byte) []byte {
	data := b[recordHead:]
	binary.LittleEndian.PutUint64(b, uint64(len(data)))
	binary.LittleEndian.PutUint32(b[8:], masked(b[:8]))
	return binary.LittleEndian.AppendUint32(b, masked(data))
}
