// Package wire reads and writes inference requests as the Open Inference Protocol's HTTP form has them: JSON, and JSON
// followed by binary tensors. It knows neither HTTP nor models. What it reads comes from anywhere: errors name the
// field, and nothing is taken that the body does not hold.
package wire
