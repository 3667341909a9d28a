package schema

import (
	"flag"
	"os"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
)

var update = flag.Bool("update", false, "write configs/schema.json anew")

const file = "../../configs/schema.json"

// TestFresh: the schema that editors use says what the code says.
func TestFresh(t *testing.T) {
	got, err := Generate("../..", catalog.Default())
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("configs/schema.json is older than the code: go test ./catalog/schema -update")
	}
}
