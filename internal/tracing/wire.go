package tracing

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is a message of OTLP. Its fields have the numbers and names of opentelemetry/proto/trace/v1/trace.proto and
// what that imports. It can be written in both encodings of OTLP over HTTP: protobuf and JSON.
type message []field

type field struct {
	number protowire.Number
	name   string
	value  any // message, []message, string, bool, float64 or one of the types below
}

type (
	id      []byte // in JSON in hexadecimal
	nanos   uint64 // fixed64, in JSON a string
	integer int64  // in JSON a string
	small   uint64 // an enumeration or a uint32
	flags   uint32 // fixed32
)

// appendTo appends the message in protobuf.
func (m message) appendTo(b []byte) []byte {
	for _, f := range m {
		switch v := f.value.(type) {
		case message:
			b = protowire.AppendBytes(protowire.AppendTag(b, f.number, protowire.BytesType), v.appendTo(nil))
		case []message:
			for _, one := range v {
				b = message{{f.number, f.name, one}}.appendTo(b)
			}
		case string:
			b = protowire.AppendString(protowire.AppendTag(b, f.number, protowire.BytesType), v)
		case id:
			b = protowire.AppendBytes(protowire.AppendTag(b, f.number, protowire.BytesType), v)
		case bool:
			b = protowire.AppendVarint(protowire.AppendTag(b, f.number, protowire.VarintType), protowire.EncodeBool(v))
		case integer:
			b = protowire.AppendVarint(protowire.AppendTag(b, f.number, protowire.VarintType), uint64(v))
		case small:
			b = protowire.AppendVarint(protowire.AppendTag(b, f.number, protowire.VarintType), uint64(v))
		case float64:
			b = message{{f.number, f.name, nanos(math.Float64bits(v))}}.appendTo(b)
		case nanos:
			b = protowire.AppendFixed64(protowire.AppendTag(b, f.number, protowire.Fixed64Type), uint64(v))
		case flags:
			b = protowire.AppendFixed32(protowire.AppendTag(b, f.number, protowire.Fixed32Type), uint32(v))
		}
	}
	return b
}

// MarshalJSON implements json.Marshaler.
func (m message) MarshalJSON() ([]byte, error) {
	fields := make(map[string]any, len(m))
	for _, f := range m {
		fields[f.name] = f.value
	}
	return json.Marshal(fields)
}

// MarshalJSON implements json.Marshaler.
func (v id) MarshalJSON() ([]byte, error) { return json.Marshal(hex.EncodeToString(v)) }

// MarshalJSON implements json.Marshaler.
func (v nanos) MarshalJSON() ([]byte, error) { return json.Marshal(strconv.FormatUint(uint64(v), 10)) }

// MarshalJSON implements json.Marshaler.
func (v integer) MarshalJSON() ([]byte, error) { return json.Marshal(strconv.FormatInt(int64(v), 10)) }

// rejected reads from a collector's answer in protobuf, an ExportTraceServiceResponse, how many spans it did not take,
// and why.
func rejected(answer []byte) (n int64, why string) {
	partial, _ := fields(answer)
	message, numbers := fields(partial[1])
	return int64(numbers[1]), string(message[2])
}

// fields returns the fields of a message in protobuf that hold bytes and numbers; none if it is malformed.
func fields(b []byte) (texts map[protowire.Number][]byte, numbers map[protowire.Number]uint64) {
	texts, numbers = map[protowire.Number][]byte{}, map[protowire.Number]uint64{}
	for len(b) > 0 {
		number, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return nil, nil
		}
		length := protowire.ConsumeFieldValue(number, kind, b[size:])
		if length < 0 {
			return nil, nil
		}
		switch kind {
		case protowire.BytesType:
			texts[number], _ = protowire.ConsumeBytes(b[size:])
		case protowire.VarintType:
			numbers[number], _ = protowire.ConsumeVarint(b[size:])
		}
		b = b[size+length:]
	}
	return texts, numbers
}
