package serving_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/stoker-rl/stoker/internal/must"
)

// preface begins a connection of HTTP/2, and reads what the server sends.
func preface(t testing.TB, c net.Conn) *http2.Framer {
	t.Helper()
	must.Get(io.WriteString(c, http2.ClientPreface))(t)
	f := http2.NewFramer(c, c)
	must.Do(t, f.WriteSettings())
	return f
}

func headers(method, path string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, h := range [][2]string{{":method", method}, {":scheme", "http"}, {":path", path}, {":authority", "localhost"},
		{"content-type", "application/grpc"}, {"te", "trailers"}} {
		_ = e.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}) // into memory
	}
	return b.Bytes()
}

// pour announces a message of 8 MB and sends n bytes of it as the server gives room, until it ends the stream.
func pour(t testing.TB, c net.Conn, path string, n int) *http2.Framer {
	t.Helper()
	f := preface(t, c)
	must.Do(t, f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: headers("POST", path), EndHeaders: true}))
	data := make([]byte, n)
	binary.BigEndian.PutUint32(data[1:], 8<<20-5)
	stream, connection := 64<<10-1, 64<<10-1
	for len(data) > 0 {
		for stream == 0 || connection == 0 {
			frame, err := f.ReadFrame()
			if err != nil {
				return f // the server has ended it
			}
			switch frame := frame.(type) {
			case *http2.WindowUpdateFrame:
				if frame.StreamID == 0 {
					connection += int(frame.Increment)
				} else {
					stream += int(frame.Increment)
				}
			case *http2.HeadersFrame, *http2.RSTStreamFrame, *http2.GoAwayFrame:
				return f
			}
		}
		part := data[:min(len(data), 16<<10, stream, connection)]
		if f.WriteData(1, false, part) != nil {
			return f
		}
		data, stream, connection = data[len(part):], stream-len(part), connection-len(part)
	}
	return f
}

// withhold is pour, and returns when the server has read what was sent; n is less than a stream's first window.
func withhold(t testing.TB, c net.Conn, path string, n int) {
	t.Helper()
	f := pour(t, c, path, n)
	must.Do(t, f.WritePing(false, [8]byte{1}))
	for {
		frame := must.Get(f.ReadFrame())(t)
		if p, ok := frame.(*http2.PingFrame); ok && p.IsAck() {
			return
		}
	}
}

// reset opens streams and ends them at once, until the server closes the connection or n are over.
func reset(t testing.TB, c net.Conn, path string, n int) {
	t.Helper()
	f := preface(t, c)
	go func() { _, _ = io.Copy(io.Discard, c) }()
	block := headers("GET", path)
	for i := range n {
		id := uint32(2*i + 1)
		if f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndHeaders: true, EndStream: true}) != nil ||
			f.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
			return // it has closed it
		}
	}
}
