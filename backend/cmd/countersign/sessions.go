package main

import (
	"io"

	"github.com/spf13/cobra"

	"countersign/backend/protocol"
)

func sessionsCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{Use: "sessions", Short: "List conversations"}
	var p protocol.SessionsListParams
	list := &cobra.Command{
		Use: "list", Short: "List conversations, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := ask[protocol.SessionsList](cmd.Context(), g, reading(), protocol.MethodSessionsList, p)
			if err != nil {
				return err
			}
			return show(cmd, g, out, func(w io.Writer) {
				rows := make([][]string, len(out.Sessions))
				for i, s := range out.Sessions {
					title := s.Label
					if title == "" {
						title = s.DerivedTitle
					}
					rows[i] = []string{string(s.Key), string(s.Status), when(s.UpdatedAtMs), printable(title)}
				}
				table(w, []string{"SESSION", "STATE", "LAST", "TITLE"}, rows)
			})
		},
	}
	list.Flags().StringVar(&p.Search, "search", "", "words to look for")
	cmd.AddCommand(list)
	return cmd
}
