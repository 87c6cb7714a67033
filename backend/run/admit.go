package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"countersign/backend/blob"
	"countersign/backend/protocol"
	"countersign/backend/queue"
	"countersign/backend/registry"
	"countersign/backend/session"
	"countersign/backend/store"
)

// Attachment is one file that came with a message.
type Attachment struct {
	Name     string
	MimeType string
	Content  []byte
}

// Admission is one message that wants to become a run.
type Admission struct {
	SessionKey  protocol.SessionKey
	Key         protocol.RunID
	Text        string
	Attachments []Attachment
	Thinking    string
	// Replace edits an earlier message: it and what followed leave the history.
	Replace protocol.MessageID
	// ExpectedSession and ExpectedLeaf guard against posting to a conversation
	// that changed; empty means no guard.
	ExpectedSession protocol.SessionID
	ExpectedLeaf    protocol.MessageID
	Origin          protocol.Origin
	Channel         string
	Sender          string
	ReplyTarget     json.RawMessage
}

// maxText bounds a message in bytes; maxInline a text file that is read along
// with its message.
const (
	maxText   = 1 << 20
	maxInline = 256 << 10
)

// Admit stores a message and its run in one transaction and returns after it is
// on disk. The same key with the same content returns what became of it; with
// other content it is refused.
func (m *Manager) Admit(ctx context.Context, a Admission) (protocol.ChatSendResult, error) {
	if err := checkAdmission(a); err != nil {
		return protocol.ChatSendResult{}, err
	}
	content, refs, err := m.content(a)
	if err != nil {
		return protocol.ChatSendResult{}, err
	}
	hash := contentHash(a, content)
	var result protocol.ChatSendResult
	err = m.o.DB.Write(ctx, func(tx *store.Tx) error {
		known, err := queue.Get(tx, a.Key)
		if err == nil {
			result, err = repeat(known, hash)
			return err
		}
		if !errors.Is(err, queue.ErrNotFound) {
			return err
		}
		result = protocol.ChatSendResult{RunID: a.Key, Status: protocol.ChatStarted}
		tx.OnCommit(m.poke)
		return m.accept(tx, a, content, refs, hash)
	})
	return result, Wire(err)
}

func checkAdmission(a Admission) error {
	switch {
	case a.Key == "" || len(a.Key) > 200 || strings.ContainsAny(string(a.Key), "\x00\n\r"):
		return protocol.NewError(protocol.CodeInvalidRequest, "", "idempotencyKey is missing or too long; give each message a fresh key of at most 200 characters.")
	case !utf8.ValidString(a.Text):
		return protocol.NewError(protocol.CodeInvalidRequest, "", "The message is not valid UTF-8 text.")
	case strings.TrimSpace(a.Text) == "" && len(a.Attachments) == 0:
		return protocol.NewError(protocol.CodeInvalidRequest, "", "The message is empty; write something or attach a file.")
	case len(a.Text) > maxText:
		return protocol.NewError(protocol.CodeInvalidRequest, "", "The message is longer than 1 MiB; attach it as a file instead.")
	}
	return nil
}

// repeat answers a key that is known.
func repeat(known queue.Run, hash string) (protocol.ChatSendResult, error) {
	if known.ContentHash != hash {
		return protocol.ChatSendResult{}, protocol.NewError(protocol.CodeInvalidRequest, protocol.DetailKeyReused,
			"This idempotencyKey was used for another message; nothing was sent. Use a fresh key.")
	}
	status := protocol.ChatInFlight
	switch known.State {
	case protocol.RunDone:
		status = protocol.ChatOK
	case protocol.RunFailed:
		status = protocol.ChatFailed
	case protocol.RunStopped:
		status = protocol.ChatAborted
	}
	return protocol.ChatSendResult{RunID: known.ID, Status: status}, nil
}

type blobRef struct {
	id   protocol.BlobID
	size int64
}

// content puts attachments on disk and builds the message's blocks.
func (m *Manager) content(a Admission) (protocol.Blocks, []blobRef, error) {
	var blocks protocol.Blocks
	if a.Text != "" {
		blocks = append(blocks, protocol.TextBlock{Text: a.Text})
	}
	var refs []blobRef
	for _, at := range a.Attachments {
		isImage := strings.HasPrefix(at.MimeType, "image/")
		if len(at.Content) > protocol.MaxAttachment || isImage && len(at.Content) > protocol.MaxImage {
			return nil, nil, protocol.NewError(protocol.CodeInvalidRequest, "", fmt.Sprintf("%s is too large; files may have 18 MiB and pictures 6 MiB.", at.Name))
		}
		id, err := m.o.Blobs.Put(at.Content)
		if err != nil {
			return nil, nil, fmt.Errorf("store attachment: %w", err)
		}
		size := int64(len(at.Content))
		refs = append(refs, blobRef{id, size})
		if isImage {
			blocks = append(blocks, protocol.ImageBlock{MimeType: at.MimeType, FileName: at.Name, Blob: id, Size: size})
			continue
		}
		file := protocol.FileBlock{MimeType: at.MimeType, FileName: at.Name, Blob: id, Size: size}
		if size <= maxInline && utf8.Valid(at.Content) && !strings.ContainsRune(string(at.Content), 0) {
			file.Text = string(at.Content)
		}
		blocks = append(blocks, file)
	}
	return blocks, refs, nil
}

// contentHash is what a repeated key is compared by.
func contentHash(a Admission, content protocol.Blocks) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, v := range []any{a.SessionKey, content, a.Replace, a.Thinking} {
		if err := enc.Encode(v); err != nil {
			panic(err) // strings and blocks always encode
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// accept is the transaction of admission: it looks at the session again, as it
// is now, and stores input and run together.
func (m *Manager) accept(tx *store.Tx, a Admission, content protocol.Blocks, refs []blobRef, hash string) error {
	now := m.nowMs()
	if _, err := registry.GetAgent(tx, a.SessionKey.Agent()); errors.Is(err, registry.ErrNotFound) {
		return protocol.NewUnknownAgentError(a.SessionKey.Agent(), "There is no agent of this name; nothing was sent.")
	} else if err != nil {
		return err
	}
	s, err := session.GetOrCreate(tx, a.SessionKey, protocol.SessionID(m.o.NewID()), now)
	if err != nil {
		return err
	}
	if err := guard(tx, a, s); err != nil {
		return err
	}
	for _, ref := range refs {
		if err := blob.Use(tx, ref.id, ref.size, "attachment", now); err != nil {
			return err
		}
	}
	target := string(a.ReplyTarget)
	if target == "" {
		target = "{}"
	}
	return queue.Accept(tx, queue.Run{
		ID: a.Key, SessionKey: s.Key, SessionID: s.ID, AgentID: s.AgentID, Lane: "main", ContentHash: hash, Channel: a.Channel, Sender: a.Sender,
		ReplyTarget: target, Title: runTitle(a), Model: s.Model, Thinking: a.Thinking, Limits: m.o.Limits(), AcceptedAtMs: now,
	}, queue.Input{
		RunID: a.Key, Replace: a.Replace, AcceptedAtMs: now,
		Message: protocol.Message{
			ID: protocol.MessageID(m.o.NewID()), Role: protocol.RoleUser, Content: content, TimestampMs: now, RunID: a.Key,
			Origin: a.Origin, Taint: protocol.TaintOwner,
		},
	})
}

func runTitle(a Admission) string {
	if t := session.Shorten(a.Text); t != "" {
		return t
	}
	return a.Attachments[0].Name
}

// guard refuses a message that was meant for a conversation as it no longer is.
func guard(tx *store.Tx, a Admission, s session.Session) error {
	changed := protocol.NewError(protocol.CodeInvalidRequest, protocol.DetailSessionChanged,
		"This conversation changed since you wrote; nothing was sent. Look at it again, then send.")
	if a.ExpectedSession != "" && a.ExpectedSession != s.ID {
		return changed
	}
	if s.Archived {
		return protocol.NewError(protocol.CodeInvalidRequest, protocol.DetailSessionChanged,
			"This conversation is archived; nothing was sent. Take it out of the archive first.")
	}
	if a.ExpectedLeaf != "" {
		page, _, err := session.Page(tx, s.ID, 0, 1)
		if err != nil {
			return err
		}
		if len(page) == 0 || page[0].ID != a.ExpectedLeaf {
			return changed
		}
	}
	if a.Replace == "" {
		return nil
	}
	msg, key, err := session.Message(tx, a.Replace)
	if errors.Is(err, session.ErrNotFound) || err == nil && (key != s.Key || msg.Role != protocol.RoleUser) {
		return protocol.NewError(protocol.CodeInvalidRequest, protocol.DetailSessionChanged, "The message to edit is no longer there; nothing was sent.")
	}
	return err
}
