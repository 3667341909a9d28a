package libtorch

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// gotchSources are a small gotch: what each file of the real one looks like.
var gotchSources = map[string]string{
	"LICENSE": "Apache", "go.mod": "module " + GotchModule + "\n\ngo 1.20\n\nrequire example.com/unused v1.0.0\n", "go.sum": "",
	"libtch/lib.go":       "package libtch // flags for one place only\n",
	"libtch/stb_image.h":  "// stb",
	"ts/tensor.go":        "package ts // not needed\n",
	"libtch/libs_test.go": "package libtch\n",
	"libtch/tensor.go": `package libtch

//#include "torch_api.h"
//void callback_fn(void *, char *, tensor);
import "C"

import (
	"encoding/binary"
	"log"
	"unsafe"
)

var order binary.ByteOrder

func init() { order = binary.LittleEndian }

// Ctensor is a tensor of libtorch's.
type Ctensor = C.tensor
type Cmodule = C.module

// at_shape
func AtShape(t Ctensor, ptr unsafe.Pointer) { C.at_shape(t, (*C.int64_t)(ptr)) }

func AtPrint(t Ctensor) { log.Print(order); C.at_print(t) }

func helper(n int) C.int { return C.int(n) }

//export callback_fn
func callback_fn(p unsafe.Pointer, name *C.char, t C.tensor) {}

func AtLoad(path string) Ctensor { callback_fn(nil, nil, nil); return C.at_load(nil) }
`,
	"libtch/c-generated.go": `package libtch

//#include "torch_api.h"
import "C"

func AtgAdd(ptr *Ctensor, self Ctensor){
	C.atg_add(ptr, self)
}
func AtgCat(ptr *Ctensor, list []Ctensor, n int) { C.atg_cat(ptr, &list[0], helper(n)) }
func AtgHalf(ptr *Ctensor) { C.atg_half(ptr) }
`,
	"libtch/torch_api.h": `#ifndef __TORCH_API_H__
#include <stdint.h>
#ifdef __cplusplus
#include <stdexcept>
#include <torch/torch.h>
using namespace std;
thread_local char *torch_last_err = nullptr;
extern "C" {
typedef torch::Tensor *tensor;
typedef torch::jit::script::Module *module;
#define PROTECT(x)  \
  try {             \
    x               \
  } catch (...) {}
#else
typedef void *tensor;
typedef void *module;
#endif
char *get_and_reset_last_err(); // thread-local
/* [at_print] prints
   one tensor. */
void at_print(tensor);
void at_shape(tensor, int64_t *);
tensor at_load(char *filename,
               void (*f)(void *, char *, tensor));
#include "torch_api_generated.h"
#ifdef __cplusplus
};
#endif
#endif
`,
	"libtch/torch_api_generated.h": `// generated
void atg_add(tensor *, tensor self);
void atg_cat(tensor *, tensor *, int n);
void atg_half(tensor *);
`,
	"libtch/torch_api.cpp": `#include "torch_api.h"
#include "ATen/core/interned_strings.h"
#include <torch/script.h>
#include <vector>

#define STB_IMAGE_IMPLEMENTATION
#include "stb_image.h"

using namespace std;

char *get_and_reset_last_err() { return torch_last_err; }
void at_manual_seed(int64_t seed) { torch::manual_seed(seed); }

vector<torch::Tensor> of_carray_tensor(torch::Tensor **vs,
                                       int len) {
  vector<torch::Tensor> result;
  for (int i = 0; i < len; ++i) {
    result.push_back(*(vs[i]));
  }
  return result;
}
template <typename T>
void at_set(tensor t, T v) {
  PROTECT(t->fill_(v);)
}
void at_shape(tensor t, int64_t *dims) {
  PROTECT(*dims = t->size(0);)
}
// void at_print(tensor t) { }
void at_print(tensor t) { PROTECT(cout << *t << endl;) }
#include "torch_api_generated.cpp.h"
`,
	"libtch/torch_api_generated.cpp.h": `// generated

void atg_add(tensor *out__, tensor self) {
  PROTECT(
    auto outputs__ = torch::add(*self);
    out__[0] = new torch::Tensor(outputs__);
  )
}

void atg_cat(tensor *out__, tensor *list, int n) {
  PROTECT(
    out__[0] = new torch::Tensor(torch::cat(of_carray_tensor(list, n)));
  )
}

int64_t atg__dimi(tensor self) {
  PROTECT(
    return self->_dimI();
  )
  return 0;
}
`,
}

// engineSources are a small nets/torch, with a name that hides the package's and a test of its own.
var engineSources = map[string]string{
	"nets/torch/add.go": "package torch\n\nimport lib \"" + bindingsPackage + "\"\n\nfunc add() {\n\tlib.AtgAdd(nil, nil)\n\tlib.AtgCat(nil, nil, 0)\n}\n",
	"nets/torch/add_test.go": "package torch\n\nimport \"" + bindingsPackage + "\"\n\n" +
		"func shape() { libtch.AtShape(nil, nil); libtch.AtgAdd(nil, nil) }\n",
	"nets/torch/other.go": "package torch\n\nimport \"strings\"\n\nvar lib = strings.Builder{}\n\nfunc f() { " +
		"lib.AtgHalf() }\n",
}

func TestCallsAreThoseOfTheSource(t *testing.T) {
	root := plainDir(t)
	_, err := Options{Root: root}.calls()
	wantError(t, err, "no checkout of Stoker", root)
	writeAll(t, root, engineSources)
	got, err := Options{Root: root}.calls()
	want := map[string]string{"AtgAdd": "nets/torch/add.go:6", "AtgCat": "nets/torch/add.go:7",
		"AtShape": "nets/torch/add_test.go:5"}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("calls %v, %v; want %v", got, err, want)
	}
	writeAll(t, root, map[string]string{"nets/torch/bad.go": "package torch\n\nfunc {"})
	_, err = Options{Root: root}.calls()
	wantError(t, err, "nets/torch/bad.go:3")
}

// goFiles are the Go files of the small gotch.
func goFiles() map[string][]byte {
	return map[string][]byte{
		"tensor.go":      []byte(gotchSources["libtch/tensor.go"]),
		"c-generated.go": []byte(gotchSources["libtch/c-generated.go"]),
	}
}

func TestCutGoKeepsWhatIsReached(t *testing.T) {
	files, callers, err := cutGo(goFiles(), map[string]string{"AtgCat": "a.go:1", "AtShape": "a.go:2"})
	must.Do(t, err)
	holds := func(file string, parts, not []string) {
		for _, p := range parts {
			if !strings.Contains(string(files[file]), p) {
				t.Errorf("%s lacks %q:\n%s", file, p, files[file])
			}
		}
		for _, p := range not {
			if strings.Contains(string(files[file]), p) {
				t.Errorf("%s still has %q:\n%s", file, p, files[file])
			}
		}
	}
	holds("tensor.go", []string{"cut down", "func AtShape", "func helper", "type Ctensor = C.tensor",
		`import "unsafe"`, `//#include "torch_api.h"`},
		[]string{"AtPrint", "binary", `"log"`, "Cmodule", "AtLoad", "//export", "init"})
	holds("c-generated.go", []string{"func AtgCat"}, []string{"AtgAdd", "AtgHalf", "unsafe"})
	if !slices.Equal(callers["atg_cat"], []string{"AtgCat"}) || callers["atg_add"] != nil {
		t.Errorf("callers %v", callers)
	}

	// What a variable needs to be set comes with it, and what C calls back.
	files, _, err = cutGo(goFiles(), map[string]string{"AtPrint": "a.go:1", "AtLoad": "a.go:2"})
	must.Do(t, err)
	holds("tensor.go", []string{"func init() { order = binary", "encoding/binary",
		"//export callback_fn\nfunc callback_fn"}, []string{"AtShape"})
	if files["c-generated.go"] != nil {
		t.Error("a file with nothing in it")
	}

	_, _, err = cutGo(goFiles(), map[string]string{"AtgNone": "nets/torch/x.go:7"})
	wantError(t, err, "nets/torch/x.go:7 calls libtch.AtgNone, which gotch "+GotchVersion+" does not have")
	_, _, err = cutGo(map[string][]byte{"bad.go": []byte("package libtch\nfunc {")}, nil)
	wantError(t, err, "bad.go:2")
}

// cFiles are the C and C++ files of the small gotch.
func cFiles() map[string]string {
	files := map[string]string{}
	for _, name := range []string{apiHeader, genHeader, unit, bindings} {
		files[name] = gotchSources["libtch/"+name]
	}
	return files
}

func TestCutCppKeepsWhatIsReached(t *testing.T) {
	texts, err := cutCpp(cFiles(), []string{"atg_cat", "at_shape", "tensor", "int64_t"})
	must.Do(t, err)
	for file, want := range map[string][2][]string{
		apiHeader: {
			{"<stdint.h>", "<stdexcept>", "<torch/types.h>", "typedef torch::Tensor *tensor;",
				"typedef void *tensor;", "void at_shape", "torch_last_err", "} catch (...) {}\n#else", "};\n#endif"},
			{"torch/torch.h", "Module", "at_print", "at_load", "void *module", "prints", "get_and_reset"},
		},
		genHeader: {{"void atg_cat"}, {"atg_add", "atg_half"}},
		unit: {{"<vector>", `"torch_api.h"`, bindings, "of_carray_tensor(torch::Tensor **vs,\n", "at_shape"},
			{"ATen/", "script.h", "stb", "STB", "manual_seed", "at_set", "template", "print"}},
		bindings: {{"torch::cat(of_carray"}, {"atg_add", "dimi"}},
	} {
		for _, p := range want[0] {
			if !strings.Contains(texts[file].text, p) {
				t.Errorf("%s lacks %q:\n%s", file, p, texts[file].text)
			}
		}
		for _, p := range want[1] {
			if strings.Contains(texts[file].text, p) {
				t.Errorf("%s still has %q:\n%s", file, p, texts[file].text)
			}
		}
	}
	_, err = cutCpp(cFiles(), []string{"atg_half"})
	wantError(t, err, "declares atg_half and has no body")
}

// What g++ 12 says, with the folders shortened: an error in the bindings, one in a header that a call in the bindings
// leads to, and a note.
const complaints = `In file included from torch_api.cpp:15:
torch_api_generated.cpp.h: In function 'void atg_add(void**, void*)':
torch_api_generated.cpp.h:4:29: error: 'add' is not a member of 'torch'
    4 |     auto outputs__ = torch::add(*self);
/usr/include/c++/12/tuple: In instantiation of 'constexpr const size_t n':
/usr/include/c++/12/tuple:1357:25: error: static assertion failed: tuple index must be in range
/src/torch_api_generated.cpp.h:10:45:   required from here
torch_api_generated.cpp.h:2:1: note: declared here
torch_api_generated.cpp.h:99:1: error: out of the file
`

func TestRefusedNamesTheFunctions(t *testing.T) {
	texts := must.Get(cutCpp(cFiles(), []string{"atg_add", "atg_cat"}))(t)
	if got := refused(complaints, texts); !slices.Equal(got, []string{"atg_add", "atg_cat"}) {
		t.Errorf("refused %v, want atg_add and atg_cat:\n%s", got, texts[bindings].text)
	}
	if got := firstErrors(complaints, 1); !strings.Contains(got, "'add' is not") || strings.Contains(got, "tuple") {
		t.Errorf("first error %q", got)
	}
	if got := firstErrors("Killed", 3); got != "Killed" {
		t.Errorf("without an error line: %q", got)
	}
}
