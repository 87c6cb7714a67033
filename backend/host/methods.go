package host

import (
	"context"
	"fmt"
	"os"
	"slices"

	"countersign/backend/approval"
	"countersign/backend/effect"
	"countersign/backend/gateway"
	"countersign/backend/protocol"
	"countersign/backend/queue"
	"countersign/backend/run"
	"countersign/backend/session"
	"countersign/backend/store"
)

// registerMethods hands every method family to the gateway.
func (h *Host) registerMethods() {
	g := h.gateway
	gateway.Handle(g, protocol.MethodHealth, h.healthNow)
	gateway.Handle(g, protocol.MethodStatus, h.status)
	gateway.Handle(g, protocol.MethodChatSend, h.chatSend)
	gateway.Handle(g, protocol.MethodChatHistory, h.chatHistory)
	gateway.Handle(g, protocol.MethodChatAbort, h.chatAbort)
	gateway.Handle(g, protocol.MethodAttachmentGet, h.attachment)
	gateway.Handle(g, protocol.MethodSessionsList, h.sessionsList)
	gateway.Handle(g, protocol.MethodSessionsDescribe, h.sessionsDescribe)
	gateway.Handle(g, protocol.MethodSessionsSubscribe, h.sessionsSubscribe)
	gateway.Handle(g, protocol.MethodSessionsCreate, h.sessionsCreate)
	gateway.Handle(g, protocol.MethodSessionsPatch, h.sessionsPatch)
	gateway.Handle(g, protocol.MethodSessionsReset, h.sessionsReset)
	gateway.Handle(g, protocol.MethodSessionsDelete, h.sessionsDelete)
	gateway.Handle(g, protocol.MethodAgentsList, h.agentsList)
	gateway.Handle(g, protocol.MethodAgentsUpdate, h.agentsUpdate)
	gateway.Handle(g, protocol.MethodToolsCatalog, h.toolsCatalog)
	gateway.Handle(g, protocol.MethodModelsList, h.models.list)
	gateway.Handle(g, protocol.MethodModelsAdd, h.modelsAdd)
	gateway.Handle(g, protocol.MethodModelsRemove, h.modelsRemove)
	gateway.Handle(g, protocol.MethodModelsFound, h.models.found)
	gateway.Handle(g, protocol.MethodModelsTest, h.models.test)
	gateway.Handle(g, protocol.MethodApprovalList, h.approvalList)
	gateway.Handle(g, protocol.MethodApprovalGet, h.approvalGet)
	gateway.Handle(g, protocol.MethodApprovalResolve, h.approvalResolve)
	gateway.Handle(g, protocol.MethodQuestionList, h.questionList)
	gateway.Handle(g, protocol.MethodQuestionResolve, h.questionResolve)
	gateway.Handle(g, protocol.MethodRunsList, h.runsList)
	gateway.Handle(g, protocol.MethodRunsGet, h.runsGet)
	gateway.Handle(g, protocol.MethodRunsResume, h.runsResume)
	gateway.Handle(g, protocol.MethodReceiptsList, h.receiptsList)
	gateway.Handle(g, protocol.MethodReceiptsGet, h.receiptsGet)
	gateway.Handle(g, protocol.MethodReceiptsVerify, h.verifyReceipts)
	gateway.Handle(g, protocol.MethodReceiptsUndo, h.receiptsUndo)
	gateway.Handle(g, protocol.MethodFoldersList, h.foldersList)
	gateway.Handle(g, protocol.MethodFoldersAdd, h.foldersAdd)
	gateway.Handle(g, protocol.MethodFoldersRemove, h.foldersRemove)
	gateway.Handle(g, protocol.MethodSettingsGet, h.settingsGet)
	gateway.Handle(g, protocol.MethodSettingsPatch, h.settingsPatch)
	gateway.Handle(g, protocol.MethodSecretsStatus, h.secretsStatus)
	gateway.Handle(g, protocol.MethodSecretsSet, h.secretsSet)
	gateway.Handle(g, protocol.MethodSecretsChoose, h.secretsChoose)
	gateway.Handle(g, protocol.MethodPauseSet, h.pauseSet)
	gateway.Handle(g, protocol.MethodWindowShow, h.windowShow)
}

func (h *Host) healthNow(ctx context.Context, _ gateway.Caller, p protocol.HealthParams) (protocol.Health, error) {
	if p.Probe {
		h.state.forget()
		if err := h.state.refresh(ctx); err != nil {
			return protocol.Health{}, err
		}
	}
	return h.state.health(), nil
}

func (h *Host) status(ctx context.Context, c gateway.Caller, _ protocol.StatusParams) (protocol.Status, error) {
	out := protocol.Status{
		RuntimeVersion: h.o.Version, PID: os.Getpid(), UptimeMs: h.o.Now().Sub(h.started).Milliseconds(), BootEpoch: h.runs.Epoch(), Home: h.o.Home,
		Health: h.state.health(),
	}
	var err error
	if out.Lanes, err = h.runs.Lanes(ctx); err != nil {
		return out, err
	}
	err = h.db.Read(ctx, func(tx *store.ReadTx) (err error) {
		if out.Runs.Queued, out.Runs.Running, out.Runs.Parked, err = queue.Counts(tx); err != nil {
			return err
		}
		if out.Sessions.Count, err = session.Count(tx); err != nil {
			return err
		}
		head, err := effect.Head(tx)
		out.Receipts = head.Seq
		return err
	})
	return out, err
}

func (h *Host) approvalList(ctx context.Context, _ gateway.Caller, p protocol.ApprovalListParams) (out []protocol.Approval, err error) {
	var key protocol.SessionKey
	if p.SessionKey != "" {
		if key, err = h.keyOf(ctx, p.SessionKey, ""); err != nil {
			return nil, err
		}
	}
	limit := p.Limit
	if limit <= 0 || limit > 500 {
		limit = 200
	}
	err = h.db.Read(ctx, func(tx *store.ReadTx) (err error) {
		if p.All {
			out, err = approval.List(tx, key, limit)
			return err
		}
		out, err = approval.Pending(tx, "")
		return err
	})
	if key != "" {
		out = slices.DeleteFunc(out, func(a protocol.Approval) bool { return a.Request.SessionKey != key })
	}
	return out, err
}

func (h *Host) approvalGet(ctx context.Context, _ gateway.Caller, p protocol.ApprovalGetParams) (protocol.Approval, error) {
	var out protocol.Approval
	err := h.db.Read(ctx, func(tx *store.ReadTx) (err error) {
		out, err = approval.Get(tx, p.ID)
		return err
	})
	return out, run.Wire(err)
}

func (h *Host) approvalResolve(ctx context.Context, c gateway.Caller, p protocol.ApprovalResolveParams) (protocol.ApprovalResolveResult, error) {
	switch p.Decision {
	case protocol.AllowOnce, protocol.AllowSession, protocol.Deny:
	case protocol.AllowAlways:
		return protocol.ApprovalResolveResult{}, protocol.NewError(protocol.CodeInvalidRequest, protocol.DetailAllowAlwaysUnavailable,
			"This cannot be allowed for good; allow it once or for this session.")
	default:
		return protocol.ApprovalResolveResult{}, invalid("The decision must be allow-once, allow-session or deny.")
	}
	a, err := h.runs.Resolve(ctx, p.ID, approval.Verdict{Decision: p.Decision, Reason: p.Reason, PlanHash: p.PlanHash, Resolver: resolver(c)})
	if err != nil {
		return protocol.ApprovalResolveResult{}, err
	}
	return protocol.ApprovalResolveResult{OK: true, Approval: a}, nil
}

// resolver names who decides, in words for a card and a receipt.
func resolver(c gateway.Caller) protocol.Resolver {
	r := c.Resolver()
	switch c.Peer.Kind {
	case gateway.PeerWindow:
		r.Name = "you, in the window"
	case gateway.PeerBrowser:
		r.Name = "you, in the browser"
	default:
		if c.Device != nil {
			r.Name = fmt.Sprintf("you, on %s", c.Device.Name)
		}
	}
	return r
}

func (h *Host) questionList(ctx context.Context, _ gateway.Caller, p protocol.QuestionListParams) (protocol.QuestionList, error) {
	var out protocol.QuestionList
	err := h.db.Read(ctx, func(tx *store.ReadTx) (err error) {
		out.Questions, err = approval.Questions(tx, "", p.All)
		return err
	})
	return out, err
}

func (h *Host) questionResolve(ctx context.Context, c gateway.Caller, p protocol.QuestionResolveParams) (protocol.QuestionResult, error) {
	q, err := h.runs.Answer(ctx, p.ID, approval.Answer{Options: p.Answers, Text: p.Text}, resolver(c))
	if err != nil {
		return protocol.QuestionResult{}, err
	}
	return protocol.QuestionResult{OK: true, Question: q}, nil
}

func (h *Host) runsList(ctx context.Context, _ gateway.Caller, p protocol.RunsListParams) (protocol.RunsList, error) {
	out := protocol.RunsList{Runs: []protocol.Run{}}
	f := queue.Filter{OpenOnly: p.Open, Limit: min(max(p.Limit, 0), 500)}
	if p.SessionKey != "" {
		key, err := h.keyOf(ctx, p.SessionKey, "")
		if err != nil {
			return out, err
		}
		f.SessionKey = key
	}
	err := h.db.Read(ctx, func(tx *store.ReadTx) error {
		runs, err := queue.List(tx, f)
		if err != nil {
			return err
		}
		out.Runs, err = views(tx, runs)
		return err
	})
	return out, err
}

func views(tx *store.ReadTx, runs []queue.Run) ([]protocol.Run, error) {
	out := make([]protocol.Run, 0, len(runs))
	for _, r := range runs {
		v, err := run.View(tx, r)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (h *Host) runsGet(ctx context.Context, _ gateway.Caller, p protocol.RunsGetParams) (protocol.Run, error) {
	var out protocol.Run
	err := h.db.Read(ctx, func(tx *store.ReadTx) error {
		r, err := queue.Get(tx, p.RunID)
		if err != nil {
			return err
		}
		out, err = run.View(tx, r)
		return err
	})
	return out, run.Wire(err)
}

func (h *Host) runsResume(ctx context.Context, c gateway.Caller, p protocol.RunsResumeParams) (protocol.Run, error) {
	if _, err := h.runs.Resume(ctx, p, resolver(c).Name); err != nil {
		return protocol.Run{}, err
	}
	return h.runsGet(ctx, c, protocol.RunsGetParams{RunID: p.RunID})
}

func (h *Host) receiptsList(ctx context.Context, _ gateway.Caller, p protocol.ReceiptsListParams) (protocol.ReceiptsList, error) {
	if p.SessionKey != "" {
		key, err := h.keyOf(ctx, p.SessionKey, "")
		if err != nil {
			return protocol.ReceiptsList{}, err
		}
		p.SessionKey = string(key)
	}
	var out protocol.ReceiptsList
	err := h.db.Read(ctx, func(tx *store.ReadTx) (err error) {
		out, err = effect.ListReceipts(tx, p)
		return err
	})
	return out, err
}

func (h *Host) receiptsGet(ctx context.Context, _ gateway.Caller, p protocol.ReceiptsGetParams) (protocol.Receipt, error) {
	var out protocol.Receipt
	err := h.db.Read(ctx, func(tx *store.ReadTx) (err error) {
		out, err = effect.GetReceipt(tx, p.ID)
		return err
	})
	return out, run.Wire(err)
}

func (h *Host) receiptsUndo(ctx context.Context, c gateway.Caller, p protocol.ReceiptsUndoParams) (protocol.ReceiptsUndoResult, error) {
	by := protocol.ReceiptOrigin{Channel: channelOf(c), Sender: resolver(c).Name, AgentName: "you"}
	r, err := h.runs.Undo(ctx, p.ID, by)
	if err != nil {
		return protocol.ReceiptsUndoResult{}, err
	}
	return protocol.ReceiptsUndoResult{OK: true, Receipt: r}, nil
}

// channelOf names where a caller sits, for receipts.
func channelOf(c gateway.Caller) string {
	switch c.Peer.Kind {
	case gateway.PeerWindow:
		return "window"
	case gateway.PeerBrowser:
		return "browser"
	case gateway.PeerSocket:
		return "command line"
	}
	return "client"
}

func (h *Host) pauseSet(ctx context.Context, _ gateway.Caller, p protocol.PauseParams) (protocol.OKResult, error) {
	return protocol.OKResult{OK: true}, h.runs.SetPaused(ctx, p.Paused)
}

func (h *Host) windowShow(context.Context, gateway.Caller, protocol.Empty) (protocol.OKResult, error) {
	if h.o.Show == nil {
		return protocol.OKResult{}, protocol.NewError(protocol.CodeUnavailable, "", "This host has no window; open its page in a browser instead.")
	}
	h.o.Show()
	return protocol.OKResult{OK: true}, nil
}
