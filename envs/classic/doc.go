// Package classic holds small problems with known answers, which prove learners right: CartPole-v1 and Pendulum-v1 with
// Gymnasium's dynamics, simple_spread of the multi-agent particle environments, a linear-quadratic regulator whose optimum is
// Riccati's, and a bandit whose gradient is a line of algebra.
//
// Not here: anything about serverless services.
package classic
