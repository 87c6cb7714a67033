// Package config owns what the owner of Countersign sets: models, ceilings,
// appearance, the gateway's address, start-up and the limits of commands. It is
// one file, config.json, JSON with comments, in the data directory.
//
// It promises:
//
//   - Loading never fails because of what the file says. An unknown key is kept
//     and warned about; a value of the wrong type or out of range is replaced, in
//     memory only, by the default of its branch; a broken file means defaults.
//     Each case is a Problem that names the path and the line.
//   - Loading never writes. Only Update and Restore do, and they replace the file
//     in one step: after a crash it is the old or the new one, never a mixture.
//     The last five versions stay beside it.
//   - An update keeps comments, unknown keys and the order of the file. It refuses
//     to drop more than half of the keys, and refuses to touch a file that it
//     cannot read.
//
// It refuses secrets: a key is named here and lies in the keychain.
package config
