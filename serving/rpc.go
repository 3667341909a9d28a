package serving

import (
	"context"
	"encoding/binary"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-rl/stoker/serving/internal/inference"
	"github.com/stoker-rl/stoker/serving/internal/tensors"
	"github.com/stoker-rl/stoker/serving/internal/wire"
	"github.com/stoker-rl/stoker/serving/models"
)

// window is how much of a stream may arrive before it is read, and the most of a message of all calls but ModelInfer.
const window = 64 << 10

// grpcServer answers gRPC. streams ends the streams of health and reflection.
func (s *Server) grpcServer(streams context.Context) *grpc.Server {
	o := &s.options
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(window), grpc.StaticStreamWindowSize(window), grpc.StaticConnWindowSize(16 * window),
		grpc.MaxConcurrentStreams(uint32(o.MaxArriving)), grpc.MaxHeaderListSize(64 << 10),
		grpc.ConnectionTimeout(o.ReadTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: o.Idle, Time: o.Idle, Timeout: o.ReadTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true), grpc.NumStreamWorkers(uint32(4 * runtime.GOMAXPROCS(0))), // their stacks have grown
		grpc.InTapHandle(func(ctx context.Context, i *tap.Info) (context.Context, error) { return s.tapped(ctx, i, streams) }),
	}
	if c := s.security.tlsConfig(); c != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(c)))
	}
	g := grpc.NewServer(options...)
	d := inference.GRPCInferenceService_ServiceDesc
	d.Methods = append([]grpc.MethodDesc(nil), d.Methods...)
	for i := range d.Methods {
		if d.Methods[i].MethodName == "ModelInfer" {
			d.Methods[i].Handler = func(srv any, ctx context.Context, _ func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				return s.inferRPC(ctx)
			}
		}
	}
	g.RegisterService(&d, &calls{s: s})
	grpc_health_v1.RegisterHealthServer(g, s.health)
	reflection.Register(g)
	return g
}

// openCalls need no token.
var openCalls = map[string]bool{
	grpc_health_v1.Health_Check_FullMethodName: true, grpc_health_v1.Health_Watch_FullMethodName: true,
	inference.GRPCInferenceService_ServerLive_FullMethodName:  true,
	inference.GRPCInferenceService_ServerReady_FullMethodName: true,
}

// cancelKey is the key in a stream's context of the function that ends it.
type cancelKey struct{}

// tapped checks the token of a stream before any of its message is read. Streams of other calls than ModelInfer, whose
// messages are small, count with the window's bytes until they end.
func (s *Server) tapped(ctx context.Context, i *tap.Info, streams context.Context) (context.Context, error) {
	if !openCalls[i.FullMethodName] && s.security != nil && s.security.tokens != nil {
		if err := s.security.allow(strings.Join(i.Header.Get("authorization"), ",")); err != nil {
			return nil, grpcError(err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	if i.FullMethodName == inference.GRPCInferenceService_ModelInfer_FullMethodName {
		return context.WithValue(ctx, cancelKey{}, cancel), nil
	}
	h := new(held)
	if err := s.memory.begin(h, peerAddress(ctx), window, cancel); err != nil {
		s.memory.releaseAll(h)
		cancel()
		return nil, grpcError(err)
	}
	var release func() bool
	if i.FullMethodName == grpc_health_v1.Health_Watch_FullMethodName || strings.HasPrefix(i.FullMethodName, "/grpc.refl") {
		release = context.AfterFunc(streams, cancel)
	} else {
		release = time.AfterFunc(s.options.ReadTimeout+s.options.Deadline, cancel).Stop
	}
	context.AfterFunc(ctx, func() {
		release()
		s.memory.releaseAll(h)
	})
	return ctx, nil
}

func peerAddress(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok {
		return p.Addr.String()
	}
	return ""
}

// inferRPC reads a call of ModelInfer, decides and answers.
func (s *Server) inferRPC(ctx context.Context) (*inference.ModelInferResponse, error) {
	t := s.begin()
	k := s.free.Get().(*work)
	defer s.leave(k)
	var in inference.ModelInferRequest
	var out *inference.ModelInferResponse
	k.from = peerAddress(ctx)
	err := s.readMessage(ctx, k)
	if err == nil {
		err = s.enter(k)
	}
	if err == nil {
		out, err = s.inferMessage(ctx, k, &in)
	}
	s.end(t, "grpc", in.ModelName, k, err)
	return out, grpcError(err)
}

// stream is what grpc-go's stream has, and its public interface has not: a message is read in pieces, each after there
// is room for it. Its decoder reads a message whole before a program knows how long it is. TestGRPC fails where a later
// grpc-go has it no more.
type stream interface {
	ReadMessageHeader(header []byte) error
	Read(n int) (mem.BufferSlice, error)
	RecvCompress() string
}

// prefix is the length of what stands before a message: whether it is compressed, and how long it is.
const prefix = 5

// readMessage reads a message of at most MaxBody bytes within what requests may hold.
func (s *Server) readMessage(ctx context.Context, k *work) error {
	in, ok := grpc.ServerTransportStreamFromContext(ctx).(stream)
	if !ok {
		return failed(http.StatusInternalServerError, "this grpc-go has no stream that is read in pieces")
	}
	k.cancel = ctx.Value(cancelKey{}).(context.CancelFunc)
	if err := s.memory.begin(&k.held, k.from, 0, k.stop); err != nil {
		return err
	}
	timer := time.AfterFunc(s.options.ReadTimeout, k.cancel)
	err := s.pieces(k, in)
	late := !timer.Stop()
	if err == nil {
		return s.memory.arrived(&k.held)
	}
	var f *failure
	switch {
	case late:
		err = failed(http.StatusRequestTimeout, "the message did not arrive within %v: %d bytes of it did",
			s.options.ReadTimeout, k.message.Len())
	case !errors.As(err, &f):
		err = &failure{statusGone, err}
	}
	return s.memory.late(&k.held, err)
}

// pieces reads the pieces of a message. Each holds as much as arrives before it is read, and four times the one before.
func (s *Server) pieces(k *work, in stream) error {
	var header [prefix]byte
	if err := in.ReadMessageHeader(header[:]); err != nil {
		return err
	}
	left := int64(binary.BigEndian.Uint32(header[1:]))
	switch {
	case header[0] != 0:
		return failed(http.StatusUnsupportedMediaType, "grpc-encoding: %q is not supported, send messages as they are",
			cut(in.RecvCompress(), 64))
	case left > s.options.MaxBody:
		return failed(http.StatusRequestEntityTooLarge, "the message has %d bytes, want at most %d", left, s.options.MaxBody)
	}
	for size := int64(window); left > 0; size *= stepRatio {
		n := min(left, size)
		if err := s.memory.hold(&k.held, n); err != nil {
			return err
		}
		piece, err := in.Read(int(n))
		if err != nil {
			return err
		}
		k.message = append(k.message, piece...)
		left -= n
	}
	return nil
}

// inferMessage decodes a message, decides and makes the answer. What decoding allocates is counted before.
func (s *Server) inferMessage(ctx context.Context, k *work, in *inference.ModelInferRequest) (*inference.ModelInferResponse,
	error) {
	var message []byte
	if len(k.message) == 1 {
		message = k.message[0].ReadOnlyData()
	} else if n := int64(k.message.Len()); n > 0 {
		if err := s.memory.hold(&k.held, roomFor(n)); err != nil {
			return nil, err
		}
		k.buffer = newBuffer(n)
		k.body = (*k.buffer)[:n]
		k.message.CopyTo(k.body)
		message = k.body
	}
	n, err := wire.MessageBytes(message)
	if err != nil {
		return nil, badRequest(err)
	}
	if err := s.memory.hold(&k.held, n); err != nil {
		return nil, err
	}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(message, in); err != nil {
		return nil, badRequest(err)
	}
	if err := fill(&k.request, in); err != nil {
		return nil, err
	}
	if err := s.infer(ctx, k, in.ModelName, in.ModelVersion); err != nil {
		return nil, err
	}
	return answer(&k.response, len(in.RawInputContents) > 0), nil
}

func grpcError(err error) error {
	if err == nil {
		return nil
	}
	return status.Error(codeOf(statusOf(err)), about(err))
}

// calls answers the protocol's gRPC calls but ModelInfer, which [Server.inferRPC] answers.
type calls struct {
	inference.UnimplementedGRPCInferenceServiceServer
	s *Server
}

func (c *calls) ServerLive(context.Context, *inference.ServerLiveRequest) (*inference.ServerLiveResponse, error) {
	return &inference.ServerLiveResponse{Live: true}, nil
}

func (c *calls) ServerReady(context.Context, *inference.ServerReadyRequest) (*inference.ServerReadyResponse, error) {
	return &inference.ServerReadyResponse{Ready: c.s.Ready()}, nil
}

func (c *calls) ModelReady(_ context.Context, r *inference.ModelReadyRequest) (*inference.ModelReadyResponse, error) {
	v, err := c.acquire(r.Name, r.Version)
	if status.Code(err) == codes.NotFound {
		return &inference.ModelReadyResponse{}, nil // what Triton answers, and its clients expect
	}
	if err != nil {
		return nil, err
	}
	v.Release()
	return &inference.ModelReadyResponse{Ready: c.s.Ready()}, nil
}

func (c *calls) ServerMetadata(context.Context,
	*inference.ServerMetadataRequest) (*inference.ServerMetadataResponse,
	error) {
	return &inference.ServerMetadataResponse{Name: serverName, Version: c.s.options.Version, Extensions: c.s.extensions()},
		nil
}

func (c *calls) ModelMetadata(_ context.Context, r *inference.ModelMetadataRequest) (*inference.ModelMetadataResponse,
	error) {
	v, err := c.acquire(r.Name, r.Version)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	describe := func(all []tensors.Info) (out []*inference.ModelMetadataResponse_TensorMetadata) {
		for _, t := range all {
			out = append(out, &inference.ModelMetadataResponse_TensorMetadata{Name: t.Name, Datatype: t.Type, Shape: t.Shape})
		}
		return out
	}
	return &inference.ModelMetadataResponse{Name: v.Name, Versions: []string{v.Digest}, Platform: platform,
		Inputs: describe(v.Layout.Inputs()), Outputs: describe(v.Layout.Outputs())}, nil
}

func (c *calls) acquire(name, version string) (*models.Version, error) {
	v, err := c.s.set.Acquire(name, version)
	return v, grpcError(err)
}

// fill makes a request of a message. It shares the message's memory.
func fill(to *wire.Request, r *inference.ModelInferRequest) error {
	to.Reset()
	to.ID = r.Id
	to.Params = params(r.Parameters)
	raw := r.RawInputContents
	if len(raw) > 0 && len(raw) != len(r.Inputs) {
		return failed(http.StatusBadRequest, "raw_input_contents has %d entries for %d inputs, want one for each", len(raw),
			len(r.Inputs))
	}
	for i, in := range r.Inputs {
		t := wire.Tensor{Name: in.GetName(), Type: in.GetDatatype(), Shape: in.GetShape()}
		switch contents := in.GetContents(); {
		case len(raw) > 0 && contents != nil:
			return failed(http.StatusBadRequest, "inputs[%d] %q: contents and raw_input_contents are both given", i, t.Name)
		case len(raw) > 0:
			if t.Raw = raw[i]; t.Raw == nil {
				t.Raw = []byte{}
			}
		default:
			t.Decoded()
			t.Floats, t.Bools, t.Ints = contents.GetFp32Contents(), contents.GetBoolContents(), contents.GetInt64Contents()
		}
		to.Inputs = append(to.Inputs, t)
	}
	for _, o := range r.Outputs {
		to.Outputs = append(to.Outputs, wire.Output{Name: o.GetName()})
	}
	return nil
}

// params are parameters as wire has them. Those of the binary extension of HTTP mean nothing here.
func params(all map[string]*inference.InferParameter) wire.Params {
	if len(all) == 0 {
		return nil
	}
	out := wire.Params{}
	for name, p := range all {
		switch v := p.GetParameterChoice().(type) {
		case *inference.InferParameter_BoolParam:
			out[name] = v.BoolParam
		case *inference.InferParameter_Int64Param:
			out[name] = v.Int64Param
		case *inference.InferParameter_StringParam:
			out[name] = v.StringParam
		case *inference.InferParameter_DoubleParam:
			out[name] = v.DoubleParam
		case *inference.InferParameter_Uint64Param:
			out[name] = int64(v.Uint64Param)
		default:
			out[name] = nil
		}
	}
	return out
}

// answer copies a response into a message: gRPC writes it after the batch has been given back.
func answer(r *wire.Response, raw bool) *inference.ModelInferResponse {
	out := &inference.ModelInferResponse{ModelName: r.Model, ModelVersion: r.Version, Id: r.ID,
		Outputs: make([]*inference.ModelInferResponse_InferOutputTensor, len(r.Outputs))}
	if len(r.Params) > 0 {
		out.Parameters = make(map[string]*inference.InferParameter, len(r.Params))
	}
	for _, p := range r.Params {
		v := &inference.InferParameter{}
		switch x := p.Value.(type) {
		case bool:
			v.ParameterChoice = &inference.InferParameter_BoolParam{BoolParam: x}
		case int64:
			v.ParameterChoice = &inference.InferParameter_Int64Param{Int64Param: x}
		case string:
			v.ParameterChoice = &inference.InferParameter_StringParam{StringParam: x}
		}
		out.Parameters[p.Key] = v
	}
	for i, o := range r.Outputs {
		t := &inference.ModelInferResponse_InferOutputTensor{Name: o.Name, Datatype: wire.Float32, Shape: o.Shape}
		if raw {
			out.RawOutputContents = append(out.RawOutputContents, wire.AppendRaw(make([]byte, 0, 4*len(o.Data)), o.Data))
		} else {
			t.Contents = &inference.InferTensorContents{Fp32Contents: append([]float32(nil), o.Data...)}
		}
		out.Outputs[i] = t
	}
	return out
}
