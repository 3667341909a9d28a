package train

// kernels names the families of all that a run computes with: where another engine trains, the CPU's own still acts.
func (w *world) kernels() string {
	trainer, actor := w.trainer.Info().Kernels, w.actor.Info().Kernels
	if trainer == actor {
		return trainer
	}
	return trainer + ", acting on " + actor
}
