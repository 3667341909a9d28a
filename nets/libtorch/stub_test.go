package libtorch

import (
	"slices"
	"strings"
	"testing"
)

const generated = `// generated

void atg_add(tensor *out__, tensor self) {
  PROTECT(
    auto outputs__ = torch::add(*self);
    out__[0] = new torch::Tensor(outputs__);
  )
}

tensor *atg_align_tensors(tensor *tensors_data, int tensors_len) {
  PROTECT(
    auto outputs__ = torch::align_tensors(of_carray_tensor(tensors_data, tensors_len));
    return out__;
  )
  return nullptr;
}

int64_t atg__dimi(tensor self) {
  PROTECT(
    return self->_dimI();
  )
  return 0;
}

tensor
at_helper(int a) {
}

void at_two(tensor a,
            tensor b) {
  PROTECT(
    a->missing(*b);)
}

vector<torch::Tensor> of_carray_tensor(torch::Tensor **vs, int len) {
  return nowhere;
}
`

// What g++ 12 says, with the folders shortened: an error in the bindings, one
// in a header that a call in the bindings leads to, and a note.
const complaints = `In file included from torch_api.cpp:1079:
torch_api_generated.cpp.h: In function 'void** atg_align_tensors(void**, int)':
torch_api_generated.cpp.h:12:29: error: 'align_tensors' is not a member of 'torch'
   12 |     auto outputs__ = torch::align_tensors(of_carray_tensor(tensors_data, tensors_len));
/usr/include/c++/12/tuple: In instantiation of 'constexpr const size_t n':
/usr/include/c++/12/tuple:1357:25: error: static assertion failed: tuple index must be in range
/src/torch_api_generated.cpp.h:20:45:   required from here
torch_api_generated.cpp.h:5:1: note: declared here
`

func TestErrorLinesAreThoseOfTheBindings(t *testing.T) {
	if got := errorLines(complaints, bindings); !slices.Equal(got, []int{12, 20}) {
		t.Errorf("lines %v, want 12 and 20", got)
	}
	if got := errorLines(complaints, unit); len(got) != 0 {
		t.Errorf("lines %v of another file", got)
	}
	if got := firstErrors(complaints, 1); !strings.Contains(got, "align_tensors") || strings.Contains(got, "tuple") {
		t.Errorf("first error %q", got)
	}
}

func TestStubReplacesBodiesAndNothingElse(t *testing.T) {
	reason := func(name string) string { return "no " + name + ` "here"` }
	got, names, err := stub(generated, []int{12, 20, 22, 33}, reason)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"atg_align_tensors", "atg__dimi", "at_two"}; !slices.Equal(names, want) {
		t.Fatalf("stubbed %v, want %v", names, want)
	}
	for _, part := range []string{
		"torch::add(*self)", // untouched
		"tensor *atg_align_tensors(tensor *tensors_data, int tensors_len) {\n  PROTECT(throw std::runtime_error(\"no atg_align_tensors \\\"here\\\"\");)\n  return nullptr;\n}\n",
		"int64_t atg__dimi(tensor self) {\n  PROTECT(throw std::runtime_error(\"no atg__dimi \\\"here\\\"\");)\n  return 0;\n}\n",
		"void at_two(tensor a,\n            tensor b) {\n  PROTECT(throw std::runtime_error(\"no at_two \\\"here\\\"\");)\n}\n",
		"return nowhere;",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("result lacks %q:\n%s", part, got)
		}
	}
	for _, part := range []string{"align_tensors(of", "_dimI", "a->missing"} {
		if strings.Contains(got, part) {
			t.Errorf("result still has %q", part)
		}
	}
	if (gap{name: "atg_align_tensors"}).operation() != "align_tensors" {
		t.Error("operation's name")
	}
}

func TestStubRefusesWhatIsNoBinding(t *testing.T) {
	reason := func(string) string { return "" }
	last := strings.Count(generated, "\n")
	for _, line := range []int{1, last - 1, last + 10} {
		if _, _, err := stub(generated, []int{line}, reason); err == nil {
			t.Errorf("line %d was stubbed away", line)
		}
	}
}
