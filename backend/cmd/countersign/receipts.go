package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"countersign/backend/protocol"
)

func receiptsCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{Use: "receipts", Short: "Read, verify and undo what was done"}
	var p protocol.ReceiptsListParams
	list := &cobra.Command{
		Use: "list", Short: "List receipts, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := ask[protocol.ReceiptsList](cmd.Context(), g, reading(), protocol.MethodReceiptsList, p)
			if err != nil {
				return err
			}
			return show(cmd, g, out, func(w io.Writer) { receiptTable(w, out) })
		},
	}
	list.Flags().StringVar(&p.Search, "search", "", "words to look for")
	list.Flags().StringVar(&p.SessionKey, "session", "", "only of this session")
	list.Flags().IntVar(&p.Limit, "limit", 50, "how many, at most 500")
	one := &cobra.Command{
		Use: "show ID", Short: "Show one receipt", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, err := ask[protocol.Receipt](cmd.Context(), g, reading(), protocol.MethodReceiptsGet, protocol.ReceiptsGetParams{ID: protocol.ReceiptID(args[0])})
			if err != nil {
				return err
			}
			return show(cmd, g, out, func(w io.Writer) { receiptText(w, out) })
		},
	}
	cmd.AddCommand(list, one, verifyCommand(g), undoCommand(g))
	return cmd
}

func verifyCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "verify", Short: "Check that no receipt was changed, removed or moved", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := ask[protocol.ReceiptsVerifyResult](cmd.Context(), g, reading(), protocol.MethodReceiptsVerify, protocol.Empty{})
			if err != nil {
				return err
			}
			if err := show(cmd, g, out, func(w io.Writer) { fmt.Fprintln(w, out.Sentence) }); err != nil {
				return err
			}
			if !out.OK {
				return &exitError{status: exitFailed}
			}
			return nil
		},
	}
}

func undoCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "undo ID", Short: "Put back what was changed", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, err := ask[protocol.ReceiptsUndoResult](cmd.Context(), g, reading(), protocol.MethodReceiptsUndo, protocol.ReceiptsUndoParams{ID: protocol.ReceiptID(args[0])})
			if err != nil {
				return err
			}
			return show(cmd, g, out.Receipt, func(w io.Writer) { fmt.Fprintln(w, printable(out.Receipt.Sentence)) })
		},
	}
}

func receiptTable(w io.Writer, out protocol.ReceiptsList) {
	if len(out.Receipts) == 0 {
		fmt.Fprintln(w, "There is no receipt yet.")
		return
	}
	rows := make([][]string, len(out.Receipts))
	for i, r := range out.Receipts {
		rows[i] = []string{string(r.ID), when(r.EndedAtMs), string(r.Outcome), printable(r.Sentence)}
	}
	table(w, []string{"ID", "WHEN", "OUTCOME", "WHAT"}, rows)
	if out.HasMore {
		fmt.Fprintf(w, "… %d receipts in all\n", out.Total)
	}
}

func receiptText(w io.Writer, r protocol.Receipt) {
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%-10s %s\n", name, strings.ReplaceAll(printable(value), "\n", "\n           "))
		}
	}
	fmt.Fprintln(w, printable(r.Sentence))
	line("id", string(r.ID))
	line("when", when(r.EndedAtMs))
	line("outcome", string(r.Outcome))
	line("for", r.Represents)
	line("agent", r.Origin.AgentName)
	line("asked in", fmt.Sprintf("%s, by %s", r.Origin.SessionKey, r.Origin.Sender))
	line("allowed by", strings.TrimSpace(r.Authority.Clause+" "+string(r.Authority.Decision)+" "+r.Authority.By))
	line("arguments", string(r.Args))
	if r.Evidence.ExitStatus != nil {
		line("status", fmt.Sprint(*r.Evidence.ExitStatus))
	}
	line("before", r.Evidence.HashBefore)
	line("after", r.Evidence.HashAfter)
	line("error", r.Evidence.Error)
	undo := "can be undone: countersign receipts undo " + string(r.ID)
	if !r.Undo.Available {
		undo = r.Undo.Reason
	}
	line("undo", undo)
	line("hash", r.Chain.Hash)
}
