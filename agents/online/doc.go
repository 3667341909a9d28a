// Package online serves an application with a learner that goes on learning, as FaaSConf does (Fig. 4, §4): a few windows
// (15), in each of which the policy proposes a configuration, safe exploration replaces it where its price is out of
// range, and what comes of it goes into the replay. Every third window begins with a gradient step. Afterwards the
// cheapest configuration that kept the thresholds is held.
//
// [Tuner] is an envs.Tuner around any learner that learns from transitions (agents.Offline). It begins anew with each
// Reset: the learner is made by a function of the seed, with a trained policy's weights and a replay filled from a
// library.
//
// Not here: safe exploration itself (package safe), the learners, and how the result is measured (package eval/search).
package online
