// Package tensorboard writes TensorBoard's event files.
//
// A [Writer] logs scalars, text and hyperparameters of one run; TensorBoard shows them while the run goes on. After a
// resume [Writer.Purge] makes what the stopped process logged beyond its last checkpoint invisible.
//
// An event file is a sequence of TFRecords, each an Event in protocol-buffer encoding. The few messages needed are
// encoded by hand, field by field, in encode.go. What is logged, and when, belongs to package train. Event files are
// for looking at: nothing is resumed from them, and nothing here reads them (tests do, with eventtest).
package tensorboard
