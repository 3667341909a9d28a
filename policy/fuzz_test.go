package policy_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/policy/policytest"
	"github.com/stoker-rl/stoker/rng"
)

// seal writes the right digest into a bundle's header, so that what is wrong behind it is met.
func seal(b []byte) []byte {
	b = bytes.Clone(b)
	if len(b) < 8 || binary.LittleEndian.Uint64(b) > uint64(len(b)-8) {
		return b
	}
	header := b[:8+binary.LittleEndian.Uint64(b)]
	mark := []byte(`"stoker.sha256":"`)
	at := bytes.Index(header, mark) + len(mark)
	if at < len(mark) || at+64 > len(header) {
		return b
	}
	copy(header[at:], strings.Repeat("0", 64))
	sum := sha256.Sum256(header)
	hex.Encode(header[at:], sum[:])
	return b
}

// opened opens what may be a bundle and, where it is one, decides: by an action or by an error.
func opened(t testing.TB, b []byte) bool {
	p, err := policy.OpenBytes(seal(b), policy.Options{Workers: 1})
	if err != nil {
		return false
	}
	o := p.NewObservation()
	for i := range p.Bundle().SelfTest {
		must.Do(t, policy.Show(&p.Bundle().SelfTest[i], o))
		_, _ = p.Decide(t.Context(), o, p.NewAction()) // whatever it says, it returns
	}
	return true
}

// Whatever stands in a bundle whose digests are right, opening it ends with an error or a policy that can be asked.
func TestChangedBundles(t *testing.T) {
	words := []string{"0", "-1", "1e9", "16777216", "null", "[]", "{}", `""`, "true", "1e-300", "0.5", "999999"}
	for _, name := range policytest.Names() {
		b := policytest.Encode(t, policytest.Zoo(t, name, 4))
		end := 8 + int(binary.LittleEndian.Uint64(b))
		draw := rng.NewStream(1, "test: changed bundles of "+name)
		taken := 0
		for range 150 {
			c := bytes.Clone(b)
			// A number, or what stands in its place, changes; spaces at the header's end keep its length.
			at := 8 + draw.IntN(end-8)
			for at < end-24 && (c[at] < '0' || c[at] > '9') {
				at++
			}
			last := at
			for last < end-1 && c[last] >= '0' && c[last] <= '9' {
				last++
			}
			word := words[draw.IntN(len(words))]
			header := strings.TrimRight(string(c[8:at])+word+string(c[last:end]), " ")
			if len(header) > end-8 {
				continue
			}
			copy(c[8:end], header+strings.Repeat(" ", end-8-len(header)))
			if opened(t, c) {
				taken++
			}
		}
		t.Logf("%s: %d of 150 changed bundles were taken: changes of texts, of ranges, of seeds", name, taken)
	}
}

// FuzzOpen is the same for bytes that a fuzzer makes.
func FuzzOpen(f *testing.F) {
	for _, name := range []string{"hops-pricer", "faasconf"} {
		f.Add(policytest.Encode(f, policytest.Zoo(f, name, 1)))
	}
	f.Fuzz(func(t *testing.T, b []byte) { opened(t, b) })
}
