package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"countersign/backend/protocol"
)

func approvalsCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{Use: "approvals", Short: "List and decide what waits for you"}
	var all bool
	list := &cobra.Command{
		Use: "list", Short: "List what waits", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := ask[[]protocol.Approval](cmd.Context(), g, reading(), protocol.MethodApprovalList, protocol.ApprovalListParams{All: all})
			if err != nil {
				return err
			}
			out := approvalList{Approvals: found}
			return show(cmd, g, out, func(w io.Writer) { approvalTable(w, out.Approvals) })
		},
	}
	list.Flags().BoolVar(&all, "all", false, "also those that were decided")
	var reason string
	deny := decideCommand(g, "deny ID", "Do not allow it", protocol.Deny, &reason)
	deny.Flags().StringVar(&reason, "reason", "", "why; the agent is told")
	cmd.AddCommand(list, decideCommand(g, "allow ID", "Allow it once", protocol.AllowOnce, &reason), deny)
	return cmd
}

// approvalList is what list prints with --json.
type approvalList struct {
	Approvals []protocol.Approval `json:"approvals"`
}

func approvalTable(w io.Writer, list []protocol.Approval) {
	if len(list) == 0 {
		fmt.Fprintln(w, "Nothing waits for you.")
		return
	}
	rows := make([][]string, len(list))
	for i, a := range list {
		rows[i] = []string{string(a.ID), string(a.State), when(a.CreatedAtMs), printable(a.Request.Sentence), printable(a.Request.Command)}
	}
	table(w, []string{"ID", "STATE", "SINCE", "WHAT", "COMMAND"}, rows)
}

func decideCommand(g *globals, use, short string, d protocol.Decision, reason *string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := g.paired(cmd.Context(), protocol.ScopeRead, protocol.ScopeApprovals)
			if err != nil {
				return err
			}
			out, err := ask[protocol.ApprovalResolveResult](cmd.Context(), g, a, protocol.MethodApprovalResolve,
				protocol.ApprovalResolveParams{ID: protocol.ApprovalID(args[0]), Decision: d, Reason: *reason})
			if err != nil {
				return err
			}
			return show(cmd, g, out.Approval, func(w io.Writer) {
				fmt.Fprintf(w, "%s: %s\n", out.Approval.State, printable(out.Approval.Request.Sentence))
			})
		},
	}
}
