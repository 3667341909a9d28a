package remote

import "testing"

// Without a name there is no memory; what maps it by the same name sees what is written.
func TestMemory(t *testing.T) {
	if _, err := Memory("")(1); err == nil {
		t.Error("no name passes")
	}
	name := `Local\stoker-` + t.Name()
	ours, err := Memory(name)(5000)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := Memory(name)(5000)
	if err != nil {
		t.Fatal(err)
	}
	copy(ours[4990:], "seen")
	if got := string(theirs[4990:4994]); got != "seen" || len(theirs) != 5000 {
		t.Errorf("the other has %d bytes and reads %q", len(theirs), got)
	}
}
