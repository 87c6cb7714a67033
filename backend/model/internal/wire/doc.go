// Package wire is what the providers that speak HTTP have in common: the client
// with its limits, the watch over a silent stream, the reading of failures into
// sentences, and the last checks of a history and of a model's arguments.
//
// It promises that a key leaves the process only in the header of a request to
// the host the owner configured: no redirect carries it elsewhere, and no error
// or log line made here holds it. It never sends a request again.
package wire
