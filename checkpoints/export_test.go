package checkpoints

// Hash is hashOf, for tests that forge.
var Hash = hashOf
