package faasconf

import (
	"context"

	"github.com/stoker-rl/stoker/eval/suite"
)

const paper = "Wang et al., FaaSConf: QoS-aware Hybrid Resources Configuration for Serverless Workflows (ASE 2024)"

// Suite returns the suite.
func Suite() suite.Suite {
	return suite.Suite{
		Name:  "faasconf",
		Doc:   "latency over users, the concurrency limit, and neighbours that are reconfigured (Figs. 1 and 3)",
		Paper: paper, Seeds: 20, QuickSeeds: 3, Run: run,
	}
}

func run(ctx context.Context, o suite.Options, r *suite.Report) error {
	m, err := measureMotivation(ctx, &o)
	if err != nil {
		return err
	}
	m.report(r)
	suite.Judge(r, m, motivationClaims)
	return nil
}
