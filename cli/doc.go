// Package cli is the stoker command: flags, help, exit codes and what is printed. What is done lives in the packages
// train, eval, checkpoints and envs.
package cli
