// Package maddpg implements multi-agent deep deterministic policy gradient (MADDPG) with attention mean-field actors
// and critics, and the methods that it is compared with. [Config.Mix] selects the method:
//
//	mix        actor of agent j sees                critic of agent j sees                     known as
//	attention  s_j, its neighbours' weighted mean   (s_j, a_j), its neighbours' weighted mean  AttMF (FaaSConf, ASE 2024, eqs. 6–9)
//	mean       s_j, its neighbours' mean            (s_j, a_j), its neighbours' mean           MF (Yang et al., 2018; eq. 5)
//	joint      s_j                                  all (s, a)                                 MADDPG (Lowe et al., 2017; eqs. 3–4)
//	single     all s                                all (s, a); one agent controls all         DDPG (Lillicrap et al., 2016)
//	none       s_j                                  (s_j, a_j)                                 independent DDPG
//
// Read update.go first: it is the whole update, gradient by gradient, with the paper's equation numbers. The other
// files:
//
//   - problem.go translates an environment's observations and actions for the networks.
//   - memory.go and sampler.go are the replay buffer and its minibatches; build.go makes networks, optimisers and buffers,
//     also for the update in which each agent has its own minibatch.
//   - learner.go acts, learns and saves; exploration.go has noise, filters and the paper's safe exploration.
//
// Continuous actions are u = sigmoid(logit) in [0, 1], scaled to the bounds of the action space; critics and replay see
// u. Discrete actions (choices) are Gumbel-softmax samples (Jang et al., 2017); illegal choices get a very negative
// noise. The package supports one kind of agents with vector observations: [New] refuses graphs and several kinds.
//
// Not here: when updates are due and what a checkpoint holds (agents/offpolicy), the trained policy (agents/actor).
//
// Where FaaSConf's paper and code disagree, the default follows the paper and a switch follows the code. Attention is
// the softmax of eq. 9; score: squared is the code's squared product. Every agent has its own weights; shared: true is
// the code's one set for all. Hidden layers have no normalisation; norm: layer is the nearest to the code's batch
// normalisation that does not depend on the batch.
package maddpg
