// Package eventtest reads TensorBoard's event files, for tests: every event of a file ([Read]), and the curves of a run's
// folder as TensorBoard shows them ([Scalars]). It shares nothing with package tensorboard, which writes them, so that a
// mistake there is not repeated here. Nothing but tests imports it.
package eventtest
