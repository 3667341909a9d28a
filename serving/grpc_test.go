package serving_test

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/serving"
	pb "github.com/stoker-rl/stoker/serving/internal/inference"
)

func dial(t testing.TB, r *running) *grpc.ClientConn {
	t.Helper()
	c := must.Get(grpc.NewClient(r.grpc, grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
	t.Cleanup(func() { c.Close() })
	return c
}

// gRPC answers with the numbers that HTTP answers with, typed or raw.
func TestGRPC(t *testing.T) {
	r := start(t, []string{"faasconf"}, nil, serving.Files{})
	p, all := seen(t, "faasconf")
	_, body, _ := r.send(t, "POST", faasconf+"/infer", `{"inputs":[`+vectors(p, all[0])+`]}`)
	want := parse(t, body).output("action")
	conn := dial(t, r)
	c := pb.NewGRPCInferenceServiceClient(conn)
	k := all[0].Kinds[0]
	typed := &pb.ModelInferRequest{ModelName: "faasconf", Id: "9", Inputs: []*pb.ModelInferRequest_InferInputTensor{
		{Name: "observation", Datatype: "FP32", Shape: []int64{1, 6, 37}, Contents: &pb.InferTensorContents{Fp32Contents: k.Values}},
		{Name: "active", Datatype: "BOOL", Shape: []int64{1, 6}, Contents: &pb.InferTensorContents{BoolContents: k.Active}},
	}}
	out, err := c.ModelInfer(t.Context(), typed)
	must.Do(t, err)
	if out.Id != "9" || out.ModelVersion != p.Digest() || out.Parameters["decided_by"].GetStringParam() != "policy" ||
		!slices.Equal(out.Outputs[0].Contents.Fp32Contents, want) {
		t.Errorf("answered %v, want %v", out, want)
	}
	var raw, flags []byte
	for _, x := range k.Values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	for _, x := range k.Active {
		flags = append(flags, map[bool]byte{true: 1}[x])
	}
	bytes := &pb.ModelInferRequest{ModelName: "faasconf", ModelVersion: p.Digest(), RawInputContents: [][]byte{raw, flags},
		Inputs: []*pb.ModelInferRequest_InferInputTensor{
			{Name: "observation", Datatype: "FP32", Shape: []int64{1, 6, 37}}, {Name: "active", Datatype: "BOOL", Shape: []int64{1, 6}},
		}, Outputs: []*pb.ModelInferRequest_InferRequestedOutputTensor{{Name: "action"}}}
	out, err = c.ModelInfer(t.Context(), bytes)
	if err != nil || len(out.RawOutputContents) != 1 || len(out.RawOutputContents[0]) != 4*len(want) {
		t.Fatalf("%v, %v", out, err)
	}
	for i, x := range want {
		if got := math.Float32frombits(binary.LittleEndian.Uint32(out.RawOutputContents[0][4*i:])); got != x {
			t.Errorf("raw number %d is %g, want %g", i, got, x)
		}
	}
	for what, c := range map[string]struct {
		change func()
		want   codes.Code
	}{
		`no model is called "x"`:               {func() { typed.ModelName = "x" }, codes.NotFound},
		`has no version "1"`:                   {func() { bytes.ModelVersion = "1" }, codes.NotFound},
		`shape is [6 37], want [-1 6 37]`:      {func() { typed.Inputs[0].Shape = []int64{6, 37} }, codes.InvalidArgument},
		`has 2 entries for 1 inputs`:           {func() { bytes.Inputs = bytes.Inputs[:1] }, codes.InvalidArgument},
		`data has 221 values`:                  {func() { typed.Inputs[0].Contents.Fp32Contents = k.Values[1:] }, codes.InvalidArgument},
		`data[0] is NaN, want a finite number`: {func() { copy(bytes.RawInputContents[0], []byte{0, 0, 0xc0, 0x7f}) }, codes.InvalidArgument},
	} {
		before, beforeRaw := typed.ModelName, bytes.ModelVersion
		inputs, shape, values := bytes.Inputs, typed.Inputs[0].Shape, typed.Inputs[0].Contents.Fp32Contents
		kept := slices.Clone(bytes.RawInputContents[0])
		c.change()
		var errs []string
		for _, m := range []*pb.ModelInferRequest{typed, bytes} {
			if _, err := pb.NewGRPCInferenceServiceClient(conn).ModelInfer(t.Context(), m); err != nil {
				errs = append(errs, err.Error())
				if status.Code(err) != c.want {
					t.Errorf("%s: %v", what, err)
				}
			}
		}
		if len(errs) != 1 || !strings.Contains(errs[0], what) {
			t.Errorf("want one error with %s, got %q", what, errs)
		}
		typed.ModelName, bytes.ModelVersion, bytes.Inputs = before, beforeRaw, inputs
		typed.Inputs[0].Shape, typed.Inputs[0].Contents.Fp32Contents, bytes.RawInputContents[0] = shape, values, kept
	}
}

// The other five calls, health and reflection.
func TestGRPCMetadata(t *testing.T) {
	r := start(t, []string{"faasconf"}, nil, serving.Files{})
	conn := dial(t, r)
	c := pb.NewGRPCInferenceServiceClient(conn)
	live, err := c.ServerLive(t.Context(), &pb.ServerLiveRequest{})
	if err != nil || !live.Live {
		t.Errorf("live: %v, %v", live, err)
	}
	ready, err := c.ServerReady(t.Context(), &pb.ServerReadyRequest{})
	if err != nil || !ready.Ready {
		t.Errorf("ready: %v, %v", ready, err)
	}
	model, err := c.ModelReady(t.Context(), &pb.ModelReadyRequest{Name: "faasconf"})
	if err != nil || !model.Ready {
		t.Errorf("model ready: %v, %v", model, err)
	}
	if m, err := c.ModelReady(t.Context(), &pb.ModelReadyRequest{Name: "x"}); err != nil || m.Ready {
		t.Errorf("an unknown model: %v, %v", m, err)
	}
	about, err := c.ServerMetadata(t.Context(), &pb.ServerMetadataRequest{})
	if err != nil || about.Name != "stoker" || !slices.Contains(about.Extensions, "binary_tensor_data") {
		t.Errorf("server: %v, %v", about, err)
	}
	m, err := c.ModelMetadata(t.Context(), &pb.ModelMetadataRequest{Name: "faasconf"})
	if err != nil || len(m.Inputs) != 2 || !slices.Equal(m.Inputs[0].Shape, []int64{-1, 6, 37}) || len(m.Versions) != 1 {
		t.Errorf("model: %v, %v", m, err)
	}
	for _, service := range []string{"", "inference.GRPCInferenceService"} {
		h, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
		if err != nil || h.Status != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("health of %q: %v, %v", service, h, err)
		}
	}
	stream := must.Get(grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context()))(t)
	must.Do(t, stream.Send(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}))
	list, err := stream.Recv()
	if err != nil || !strings.Contains(list.String(), "inference.GRPCInferenceService") {
		t.Errorf("reflection: %v, %v", list, err)
	}
}
