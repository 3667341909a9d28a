// Package crossentropy searches for the numbers of a policy by the cross-entropy method: draw many from a normal
// distribution, score them, fit the distribution to the best, and again (Rubinstein, "The cross-entropy method for
// combinatorial and continuous optimization", 1999). The spread gets a floor that shrinks, so that the search does not
// end too early (Szita and Lőrincz, "Learning Tetris using the noisy cross-entropy method", 2006).
//
// [Search] is the method, [Space] is what a policy says of its numbers. What scores are is up to the caller: package
// eval/fit plays episodes.
package crossentropy
