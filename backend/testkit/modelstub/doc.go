// Package modelstub is a scripted model server for tests: the Anthropic Messages
// API and OpenAI Chat Completions on one address, answering from data.
//
// It behaves as the real ones where it matters: it streams, signs thinking and
// refuses it when a byte of it has changed, and in strict mode checks every
// request as severely as the strictest provider does. It fails on demand: cut at
// any byte, in pieces of any size, with refusals, errors inside the stream,
// missing figures, broken arguments or silence. It keeps every request it got.
//
// It is no model: it answers what the script says, in order, and repeats the
// last answer for ever. It never runs in the product.
package modelstub
