// Package protocol holds the wire types and the shared vocabulary of
// Countersign, one file a family.
//
// Frames follow the OpenClaw Gateway protocol, version 4: JSON text frames of
// type req, res and event, opened by connect.challenge and connect, with the
// same method names and payloads where the meaning is the same. Families of our
// own are receipts.*, runs.*, settings.*, folders.* and device tickets; they are
// offered as the capability [CapChanges] and never sent to a client that did not
// ask for them.
//
// The package imports the standard library only, so that every other package,
// and the generator of the TypeScript types, can depend on it. Types here carry
// no behaviour beyond encoding.
package protocol
