package host_test

import (
	"encoding/json"
	"testing"

	"countersign/backend/protocol"
)

func TestHistoryHoldsTheHeadsOfItsReceipts(t *testing.T) {
	c := newRig(t).window()
	if run := allow(c, chat(c, "run false")); run.State != protocol.RunDone || run.WallAtMs < run.StartedAtMs {
		t.Fatalf("ended %s, counted at %d", run.State, run.WallAtMs)
	}
	h := call[protocol.ChatHistory](c, protocol.MethodChatHistory, protocol.ChatHistoryParams{SessionKey: "main"})
	if len(h.Receipts) != 1 {
		t.Fatalf("heads %+v", h.Receipts)
	}
	head := h.Receipts[0]
	whole := call[protocol.Receipt](c, protocol.MethodReceiptsGet, protocol.ReceiptsGetParams{ID: head.ID})
	if head.Outcome != protocol.OutcomeDone || head.ExitStatus == nil || *head.ExitStatus != 1 || head.Sentence != whole.Sentence {
		t.Errorf("head %+v of the receipt %+v", head, whole)
	}
	said := 0
	for _, m := range h.Messages {
		if m.ReceiptID == head.ID {
			said++
		}
	}
	if said != 1 {
		t.Errorf("%d messages name it", said)
	}
}

func TestAnUndoneChangeSaysSoInItsHead(t *testing.T) {
	c := newRig(t).window()
	allow(c, chat(c, "write a.txt: one"))
	list := call[protocol.ReceiptsList](c, protocol.MethodReceiptsList, protocol.ReceiptsListParams{})
	undone := call[protocol.ReceiptsUndoResult](c, protocol.MethodReceiptsUndo, protocol.ReceiptsUndoParams{ID: list.Receipts[0].ID})
	h := call[protocol.ChatHistory](c, protocol.MethodChatHistory, protocol.ChatHistoryParams{SessionKey: "main"})
	if len(h.Receipts) != 1 || h.Receipts[0].UndoneBy != undone.Receipt.ID {
		t.Errorf("heads %+v", h.Receipts)
	}
}

// A second window did not send the edit; the message alone must tell it what is
// no longer said.
func TestAnEditTellsEveryWindowWhatItTookBack(t *testing.T) {
	r := newRig(t)
	c, other := r.window(), r.window()
	chat(c, "say one")
	chat(c, "say two")
	before := call[protocol.ChatHistory](c, protocol.MethodChatHistory, protocol.ChatHistoryParams{SessionKey: "main"})
	if len(before.Messages) != 4 {
		t.Fatalf("%d messages", len(before.Messages))
	}
	ack := call[protocol.ChatSendResult](c, protocol.MethodChatSend, protocol.ChatSendParams{
		SessionKey: "main", Message: "say three", IdempotencyKey: freshKey(), ReplaceMessageID: before.Messages[2].ID,
	})
	for {
		e := next(other)
		var told protocol.SessionMessageEvent
		if e.Event != protocol.EventSessionMessage || json.Unmarshal(e.Payload, &told) != nil || told.RunID != ack.RunID {
			continue
		}
		if told.PrevSeq != before.Messages[1].Seq || told.MessageSeq != 5 {
			t.Errorf("the edit is %d after %d", told.MessageSeq, told.PrevSeq)
		}
		return
	}
}
