package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Role says who speaks in a transcript message.
type Role string

// Roles of a transcript.
const (
	RoleUser       Role = "user"
	RoleAssistant  Role = "assistant"
	RoleToolResult Role = "toolResult"
)

// Origin says where a message comes from; a child's or a guest's text is never
// mistaken for the owner's.
type Origin string

// Origins of a message.
const (
	OriginOwner    Origin = "owner"
	OriginGuest    Origin = "guest"
	OriginAgent    Origin = "agent"
	OriginSchedule Origin = "schedule"
	OriginRecovery Origin = "recovery"
	OriginSystem   Origin = "system"
)

// Taint grades where text came from.
type Taint string

// Grades of taint, from trusted to not.
const (
	TaintOwner   Taint = "owner"
	TaintLocal   Taint = "local"
	TaintOutside Taint = "outside"
)

// Message is one entry of a transcript. Seq rises within a session.
type Message struct {
	ID          MessageID  `json:"id"`
	Seq         int64      `json:"seq"`
	Role        Role       `json:"role"`
	Content     Blocks     `json:"content"`
	TimestampMs int64      `json:"timestamp"`
	RunID       RunID      `json:"runId,omitempty"`
	Origin      Origin     `json:"origin,omitempty"`
	Taint       Taint      `json:"taint,omitempty"`
	Provider    string     `json:"provider,omitempty"`
	Model       string     `json:"model,omitempty"`
	StopReason  StopReason `json:"stopReason,omitempty"`
	Usage       *Usage     `json:"usage,omitempty"`
	// Incomplete marks an answer whose stream was cut or stopped.
	Incomplete bool `json:"incomplete,omitempty"`
	// ErrorMessage is the sentence shown under an answer that ended badly.
	ErrorMessage string `json:"errorMessage,omitempty"`
	// ToolCallID, ToolName, IsError and ReceiptID belong to role toolResult.
	ToolCallID string    `json:"toolCallId,omitempty"`
	ToolName   string    `json:"toolName,omitempty"`
	IsError    bool      `json:"isError,omitempty"`
	ReceiptID  ReceiptID `json:"receiptId,omitempty"`
}

// StopReason says why a model ended its turn.
type StopReason string

// Stop reasons, as every provider's are mapped.
const (
	StopEnd     StopReason = "stop"
	StopLength  StopReason = "length"
	StopToolUse StopReason = "toolUse"
	StopRefusal StopReason = "refusal"
	StopError   StopReason = "error"
	StopAborted StopReason = "aborted"
)

// Usage counts tokens of one model call. Estimated says that the provider gave
// no figures and we counted ourselves.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead,omitempty"`
	CacheWrite int64 `json:"cacheWrite,omitempty"`
	Estimated  bool  `json:"estimated,omitempty"`
}

// BlockType is the discriminator of a content block.
type BlockType string

// Types of content blocks.
const (
	BlockText     BlockType = "text"
	BlockThinking BlockType = "thinking"
	BlockToolCall BlockType = "toolCall"
	BlockImage    BlockType = "image"
	BlockFile     BlockType = "file"
)

// Block is one part of a message's content.
//
//tsgen:union type text=TextBlock thinking=ThinkingBlock toolCall=ToolCallBlock image=ImageBlock file=FileBlock
type Block interface{ blockType() BlockType }

// TextBlock is plain or Markdown text.
type TextBlock struct {
	Text string `json:"text"`
}

// ThinkingBlock is a model's reasoning. Signature holds the provider's opaque
// bytes, kept and sent back unchanged or dropped whole, never edited.
type ThinkingBlock struct {
	Thinking  string `json:"thinking"`
	Signature string `json:"thinkingSignature,omitempty"`
	// Redacted says that Signature holds encrypted reasoning without any text.
	Redacted bool `json:"redacted,omitempty"`
}

// ToolCallBlock is one call a model asks for. Arguments is the JSON object as
// the model wrote it.
type ToolCallBlock struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// ImageBlock is a picture: base64 data, or a stored attachment.
type ImageBlock struct {
	MimeType string `json:"mimeType"`
	FileName string `json:"fileName,omitempty"`
	Data     string `json:"data,omitempty"`
	Blob     BlobID `json:"blob,omitempty"`
	Size     int64  `json:"size,omitempty"`
}

// FileBlock is an attached file; Text holds its content when it is text.
type FileBlock struct {
	MimeType string `json:"mimeType"`
	FileName string `json:"fileName"`
	Text     string `json:"text,omitempty"`
	Blob     BlobID `json:"blob,omitempty"`
	Size     int64  `json:"size"`
}

func (TextBlock) blockType() BlockType     { return BlockText }
func (ThinkingBlock) blockType() BlockType { return BlockThinking }
func (ToolCallBlock) blockType() BlockType { return BlockToolCall }
func (ImageBlock) blockType() BlockType    { return BlockImage }
func (FileBlock) blockType() BlockType     { return BlockFile }

// Blocks is a message's content; its JSON carries the type of each block.
type Blocks []Block

// MarshalJSON writes each block with its type.
func (bs Blocks) MarshalJSON() ([]byte, error) {
	out := make([]any, 0, len(bs))
	for _, b := range bs {
		switch b := b.(type) {
		case TextBlock:
			out = append(out, struct {
				Type BlockType `json:"type"`
				TextBlock
			}{BlockText, b})
		case ThinkingBlock:
			out = append(out, struct {
				Type BlockType `json:"type"`
				ThinkingBlock
			}{BlockThinking, b})
		case ToolCallBlock:
			if len(b.Arguments) == 0 {
				b.Arguments = json.RawMessage("{}")
			}
			out = append(out, struct {
				Type BlockType `json:"type"`
				ToolCallBlock
			}{BlockToolCall, b})
		case ImageBlock:
			out = append(out, struct {
				Type BlockType `json:"type"`
				ImageBlock
			}{BlockImage, b})
		case FileBlock:
			out = append(out, struct {
				Type BlockType `json:"type"`
				FileBlock
			}{BlockFile, b})
		default:
			return nil, fmt.Errorf("encode block: unknown type %T", b)
		}
	}
	return json.Marshal(out)
}

// UnreadableBlock stands in the place of a block that this version cannot read,
// because a newer one wrote it. What is stored stays as it is.
const UnreadableBlock = "[This part was written by another version of Countersign and cannot be shown here.]"

// UnmarshalJSON reads blocks by their type; a plain string is one text block. A
// block that cannot be read becomes a text block that says so: it costs that
// part and never the conversation around it. What is no block at all is an
// error.
func (bs *Blocks) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err == nil {
		*bs = Blocks{TextBlock{Text: text}}
		return nil
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(data, &raws); err != nil {
		return fmt.Errorf("decode blocks: %w", err)
	}
	out := make(Blocks, 0, len(raws))
	for _, raw := range raws {
		b, err := decodeBlock(raw)
		if err != nil {
			return err
		}
		out = append(out, b)
	}
	*bs = out
	return nil
}

func decodeBlock(raw json.RawMessage) (Block, error) {
	var head struct {
		Type BlockType `json:"type"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("decode block: %w", err)
	}
	if head.Type == "" {
		return nil, errors.New("decode block: it has no type")
	}
	switch head.Type {
	case BlockText:
		return decodeAs[TextBlock](raw), nil
	case BlockThinking:
		return decodeAs[ThinkingBlock](raw), nil
	case BlockToolCall:
		return decodeAs[ToolCallBlock](raw), nil
	case BlockImage:
		return decodeAs[ImageBlock](raw), nil
	case BlockFile:
		return decodeAs[FileBlock](raw), nil
	}
	return TextBlock{Text: UnreadableBlock}, nil
}

// decodeAs reads a block of a known type; one whose fields have other shapes
// than here comes from another version too.
func decodeAs[T Block](raw json.RawMessage) Block {
	var b T
	if err := json.Unmarshal(raw, &b); err != nil {
		return TextBlock{Text: UnreadableBlock}
	}
	return b
}

// Text joins the text blocks.
func (bs Blocks) Text() string {
	var out string
	for _, b := range bs {
		if t, ok := b.(TextBlock); ok {
			out += t.Text
		}
	}
	return out
}

// ToolCalls returns the calls in the order the model made them.
func (bs Blocks) ToolCalls() []ToolCallBlock {
	var calls []ToolCallBlock
	for _, b := range bs {
		if c, ok := b.(ToolCallBlock); ok {
			calls = append(calls, c)
		}
	}
	return calls
}
