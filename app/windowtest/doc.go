// Package windowtest holds the tests of the built programs on a private desktop: the real window, the real tray helper,
// a real bus, keychain and panel. They run with the build tag desktop_e2e, after `make build`, and are part of
// `make test`.
//
// It owns no code that ships. Pictures go to the folder that COUNTERSIGN_GALLERY names, if any.
package windowtest
