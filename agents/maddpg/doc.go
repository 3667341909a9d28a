// Package maddpg is multi-agent deep deterministic policy gradient with attention mean-field critics and actors, and
// what it is compared with:
//
//	mix        actor of agent j sees             critic of agent j sees                    known as
//	attention  s_j and its neighbours' mixture   (s_j, a_j) and its neighbours' mixture    AttMF (FaaSConf, ASE 2024, eqs. 6–9)
//	mean       the same, neighbours weighed      alike                                     MF (Yang et al., 2018; eq. 5)
//	joint      s_j                               all (s, a)                                MADDPG (Lowe et al., 2017; eqs. 3–4)
//	single     all s                             all (s, a), one agent for all             DDPG (Lillicrap et al., 2016)
//	none       s_j                               (s_j, a_j)                                independent DDPG
//
// Read update.go first: it is the update, gradient by gradient, with the paper's equation numbers. problem.go and
// action.go turn an environment into what networks see; memory.go, sampler.go and blocks.go are replay and
// minibatches, separate.go those where each agent has its own; learner.go and explore.go act and learn, safe.go is
// the paper's safe exploration, state.go lists what is saved, policy.go and policyfile.go are the policy that leaves
// training.
//
// Continuous actions are a sigmoid's output u in [0, 1], stretched to the bounds of the action space; critics and
// replay see u. Choices are Gumbel-softmax samples (Jang et al., 2017), and masks of illegal choices travel in the
// noise. One kind of agents is supported, with vectors as observations: graphs and several kinds are refused when the
// learner is made.
//
// Where paper and code of FaaSConf disagree: attention is a softmax as printed in eq. 9, the code's squared product is
// the switch score; every agent has weights of its own as the paper says, the code's one set for all is the switch
// shared; hidden layers have no normalisation, the nearest to the code's batch normalisation, without its dependence on
// the batch, is the switch norm: layer.
package maddpg
