package published

import (
	"bytes"
	"math"
	"testing"
)

// Whatever a file of curves holds, reading it gives points or an error.
func FuzzReadCurve(f *testing.F) {
	const head = "Budget,BCR_disabled_RT,BCR_RT/M_RT,BCR_ERT/C_RT,BCR_MAX_RT,BCR_disabled_Cost,BCR_RT/M_Cost,BCR_ERT/C_Cost," +
		"BCR_MAX_Cost,BCR_disabled_Config,BCR_RT/M_Config,BCR_ERT/C_Config,BCR_MAX_Config,BCR_disabled_Iterations," +
		"BCR_RT/M_Iterations,BCR_ERT/C_Iterations,BCR_MAX_Iterations\n"
	f.Add([]byte(head + "7,500,500,3000,500,6,6,6,6,{2: 896},{2: 896},{2: 128},\"{1: 64, 2: 896}\",2.0,2.0,1.0,2.0\n"))
	f.Add([]byte(head + "7,x\n"))
	f.Add([]byte("Performance_Constraint\n1\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		points, err := ReadCurve(bytes.NewReader(file))
		if err == nil && len(points) == 0 {
			t.Error("no points and no error")
		}
	})
}

// Whatever a file of golden figures or configurations holds, reading it gives results or an error, and comparing them
// does not fail otherwise.
func FuzzReadResults(f *testing.F) {
	f.Add([]byte(`{"published_preset": {"acyclic:BPBA(none)": {"rt": 1, "cost": 2, "mem": [128, 128], "variant": [0, 0]}}}`))
	f.Add([]byte("ID,a,b,c,d,e,f,g,h\n1,128,128,0,0,0.3,0.3,2.1,1387.2\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if g, err := ReadGolden(bytes.NewReader(file)); err == nil {
			for key := range g["published"] {
				if _, _, strategies, err := searches(key); err == nil && len(strategies) == 0 {
					t.Errorf("%q: no strategies and no error", key)
				}
			}
		}
		rows, err := ReadTruth(bytes.NewReader(file))
		for _, r := range rows {
			if err == nil && math.IsNaN(r.MB[0]) && !bytes.Contains(bytes.ToLower(file), []byte("nan")) {
				t.Errorf("row %+v", r)
			}
		}
	})
}
