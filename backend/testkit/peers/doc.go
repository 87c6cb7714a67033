// Package peers holds the tests against programs nobody here wrote: OpenClaw's
// own clients, the published schema of its protocol, a real model engine, and the
// desktop's secret service.
//
// It owns no code of the product and no rule of its own: a peer is started, spoken
// to, and stopped. The peers are installed by build/peers.sh into .cache/peers,
// by exact version, and are neither committed nor linked nor shipped. The tests
// have the build tag peers and are run by `make test-peers`; a peer that is
// missing fails its tests, for a proof that was not given is not a proof.
//
// What differs from the schema on purpose stands as data beside the test, each
// with its reason; a difference that is not listed fails, and so does a listed one
// that is gone.
package peers
