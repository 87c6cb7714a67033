// Package secret keeps the owner's keys: in the keychain of the system, or, only
// when the owner chooses so, in a file under a passphrase or in memory until quit.
//
// It promises:
//
//   - No secret is ever written in clear text, and no other place than the
//     keychain is used without an explicit choice.
//   - Every answer comes within the timeout, three seconds by default. A locked
//     keychain that waits for a dialog nobody sees is reported, not waited for.
//   - "There is no such secret" (ErrNotFound) and "the keychain cannot be asked"
//     (*UnavailableError) are never confused. The second carries a Status with one
//     sentence of reason and one of remedy.
//   - Secrets that are too long for a keychain are encrypted with a key that lies
//     in the keychain; the ciphertext lies in large.enc.
//
// The states of a vault, and what moves it:
//
//	keychain, locked, none   found by asking the system each time
//	file-locked → file       UnlockFile; CreateFile makes the file and unlocks it
//	any → session            UseSession, until the program ends
//
// A file made by CreateFile is the standing choice of the owner: Open finds it and
// uses it instead of the keychain. Redactor masks secrets in text that is about to
// be stored, shown or sent.
package secret
