package gateway

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"countersign/backend/protocol"
)

// maxSkew is how far a signature's time may lie from ours (protocol v4).
const maxSkew = 120 * time.Second

// DeviceID is the identity of a public key.
func DeviceID(key ed25519.PublicKey) protocol.DeviceID {
	sum := sha256.Sum256(key)
	return protocol.DeviceID(hex.EncodeToString(sum[:]))
}

// SignConnect signs the params of a connect with a device's key, for clients
// written in Go. Nonce is the challenge's, at the time of the client's clock.
// Scopes, client and auth must be set before.
func SignConnect(p *protocol.ConnectParams, key ed25519.PrivateKey, nonce string, at time.Time) {
	public := key.Public().(ed25519.PublicKey)
	p.Device = &protocol.DeviceProof{
		ID: DeviceID(public), PublicKey: base64.RawURLEncoding.EncodeToString(public),
		SignedAtMs: at.UnixMilli(), Nonce: nonce,
	}
	signature := ed25519.Sign(key, []byte(signedText(p, "v3")))
	p.Device.Signature = base64.RawURLEncoding.EncodeToString(signature)
}

// signedText is what a device signs, in protocol v4's version v3 or v2.
func signedText(p *protocol.ConnectParams, version string) string {
	scopes := make([]string, len(p.Scopes))
	for i, s := range p.Scopes {
		scopes[i] = string(s)
	}
	fields := []string{
		version, string(p.Device.ID), p.Client.ID, p.Client.Mode, roleOf(p), strings.Join(scopes, ","),
		strconv.FormatInt(p.Device.SignedAtMs, 10), signedToken(p.Auth), p.Device.Nonce,
	}
	if version == "v3" {
		fields = append(fields, folded(p.Client.Platform), folded(p.Client.DeviceFamily))
	}
	return strings.Join(fields, "|")
}

func signedToken(auth *protocol.ConnectAuth) string {
	switch {
	case auth == nil:
		return ""
	case auth.Token != "":
		return auth.Token
	case auth.DeviceToken != "":
		return auth.DeviceToken
	}
	return auth.BootstrapToken
}

// folded trims and lowers ASCII letters only, as every client does.
func folded(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, strings.TrimSpace(s))
}

// checkProof verifies that the device holds its key and signed this connection's
// challenge just now. It does not say whether the device is paired.
func checkProof(p *protocol.ConnectParams, nonce string, now time.Time) *protocol.Error {
	proof := p.Device
	if proof.Nonce == "" {
		return unproved(protocol.DetailNonceRequired, "The device signed no challenge.")
	}
	if subtle.ConstantTimeCompare([]byte(proof.Nonce), []byte(nonce)) != 1 {
		return unproved(protocol.DetailNonceMismatch, "The device signed another connection's challenge.")
	}
	key, err := decodeBase64URL(proof.PublicKey)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return unproved(protocol.DetailPublicKeyInvalid, "The device's public key is not valid.")
	}
	if DeviceID(key) != proof.ID {
		return unproved(protocol.DetailDeviceIDMismatch, "The device's id does not belong to its key.")
	}
	if skew := now.Sub(time.UnixMilli(proof.SignedAtMs)); skew > maxSkew || skew < -maxSkew {
		return unproved(protocol.DetailSignatureExpired, "The device's clock differs too much from this computer's. Set the clock, then try again.")
	}
	signature, err := decodeBase64URL(proof.Signature)
	if err == nil && len(signature) == ed25519.SignatureSize {
		for _, version := range []string{"v3", "v2"} {
			if ed25519.Verify(key, []byte(signedText(p, version)), signature) {
				return nil
			}
		}
	}
	return unproved(protocol.DetailSignatureInvalid, "The device's signature is not valid.")
}

func decodeBase64URL(s string) ([]byte, error) {
	return base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
}

func unproved(detail protocol.Detail, sentence string) *protocol.Error {
	return protocol.NewError(protocol.CodeForbidden, detail, sentence)
}
