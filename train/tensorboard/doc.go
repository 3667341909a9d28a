// Package tensorboard writes and reads TensorBoard's event files.
//
// A [Writer] logs scalars, text, histograms and hyperparameters of one run; TensorBoard shows them while the run goes on.
// After a resume [Writer.Purge] makes what the stopped process logged beyond its last checkpoint invisible.
// [Scalars] reads a run's curves back, as stoker plot does.
//
// An event file is a sequence of TFRecords, each an Event in protocol-buffer encoding. The few messages needed are
// encoded by hand, field by field, in encode.go. What is logged, and when, belongs to package train. Event
// files are for looking at: nothing is resumed from them.
package tensorboard
