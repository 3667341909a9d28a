package serving

import (
	"context"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoker-rl/stoker/serving/inference"
	"github.com/stoker-rl/stoker/serving/models"
	"github.com/stoker-rl/stoker/serving/tensors"
	"github.com/stoker-rl/stoker/serving/wire"
)

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
