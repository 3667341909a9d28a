package envs

import "github.com/stoker-rl/stoker/envs/state"

// RecordEpisodeStatistics tells of every episode that has ended. A [Vector] does so by itself.
type RecordEpisodeStatistics struct {
	wrapped
	// OnEpisode, where set, is called at the end of every episode. Its argument belongs to the wrapper and is overwritten
	// by the next episode. It is not part of copies and saved state.
	OnEpisode func(*Episode)

	stats   *EpisodeStatistics
	episode Episode
}

// NewRecordEpisodeStatistics wraps an environment.
func NewRecordEpisodeStatistics(e Env) *RecordEpisodeStatistics {
	r := &RecordEpisodeStatistics{stats: NewEpisodeStatistics(e.Spec())}
	r.wrapped = wrap(e, r)
	r.episode.Info = make([]float64, len(r.spec.Info))
	return r
}

// Reset implements [Env].
func (r *RecordEpisodeStatistics) Reset(seed uint64, options Options, obs *Observation) error {
	if err := r.Env.Reset(seed, options, obs); err != nil {
		return err
	}
	r.stats.Reset()
	r.episode.Seed = seed
	return nil
}

// Step implements [Env].
func (r *RecordEpisodeStatistics) Step(act *Action, obs *Observation, out *Outcome) error {
	if err := r.Env.Step(act, obs, out); err != nil {
		return err
	}
	r.stats.Add(out)
	if (out.Terminated || out.Truncated) && r.OnEpisode != nil {
		r.stats.Fill(&r.episode)
		r.episode.Terminated = out.Terminated
		r.OnEpisode(&r.episode)
	}
	return nil
}

// State implements [state.Stater].
func (r *RecordEpisodeStatistics) State(c *state.Codec) {
	state.Member(c, r.Env)
	state.Value(c, &r.episode.Seed)
	c.Part(r.stats)
}
