package envs

import "encoding/binary"

// RecordEpisodeStatistics tells of every episode that has ended. A [Vector] does so by itself.
type RecordEpisodeStatistics struct {
	wrapped
	// OnEpisode, where set, is called at the end of every episode. Its argument belongs to the wrapper and is overwritten by the
	// next episode. It is not part of copies and saved state.
	OnEpisode func(*Episode)

	stats   *EpisodeStatistics
	episode Episode
}

// NewRecordEpisodeStatistics wraps an environment.
func NewRecordEpisodeStatistics(e Env) *RecordEpisodeStatistics {
	r := &RecordEpisodeStatistics{wrapped: wrap(e), stats: NewEpisodeStatistics(e.Spec())}
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

// CopyFrom implements [Env].
func (r *RecordEpisodeStatistics) CopyFrom(src Env) error {
	s, err := sameWrapper(r, src)
	if err != nil {
		return err
	}
	if err := r.Env.CopyFrom(s.Env); err != nil {
		return err
	}
	r.stats.copyFrom(s.stats)
	r.episode.Seed = s.episode.Seed
	return nil
}

// AppendBinary implements [Env].
func (r *RecordEpisodeStatistics) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint64(b, r.episode.Seed)
	return r.appendInner(r.stats.appendBinary(b))
}

// UnmarshalBinary implements [Env].
func (r *RecordEpisodeStatistics) UnmarshalBinary(b []byte) error {
	s := &stateReader{b: b}
	r.episode.Seed = s.uint64()
	r.stats.read(s)
	return r.readInner(s)
}
