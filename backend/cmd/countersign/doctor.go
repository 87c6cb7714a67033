package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"countersign/backend/protocol"
)

// check is one finding of doctor.
type check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Words  string `json:"words"`
	Remedy string `json:"remedy,omitempty"`
}

func doctorCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Look whether everything is well", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks := examine(cmd.Context(), g)
			if err := show(cmd, g, checks, func(w io.Writer) { checkList(w, checks) }); err != nil {
				return err
			}
			for _, c := range checks {
				if !c.OK {
					return &exitError{status: exitFailed}
				}
			}
			return nil
		},
	}
}

func checkList(w io.Writer, checks []check) {
	for _, c := range checks {
		mark := "ok  "
		if !c.OK {
			mark = "look"
		}
		fmt.Fprintf(w, "%s  %-12s %s\n", mark, c.Name, c.Words)
		if c.Remedy != "" {
			fmt.Fprintf(w, "      %-12s %s\n", "", c.Remedy)
		}
	}
}

func examine(ctx context.Context, g *globals) []check {
	dir, err := g.dir()
	if err != nil {
		return []check{{Name: "data folder", Words: err.Error()}}
	}
	checks := []check{{Name: "data folder", OK: true, Words: dir}}
	s, err := ask[protocol.Status](ctx, g, reading(), protocol.MethodStatus, protocol.StatusParams{})
	if err != nil {
		return append(checks, check{Name: "host", Words: err.Error()})
	}
	checks = append(checks,
		check{Name: "host", OK: true, Words: fmt.Sprintf("version %s, process %d, up %s", s.RuntimeVersion, s.PID, (time.Duration(s.UptimeMs) * time.Millisecond).Round(time.Second))},
		check{Name: "sandbox", OK: s.Health.Sandbox.Mechanism != "none", Words: s.Health.Sandbox.Mechanism + ": " + s.Health.Sandbox.Reason, Remedy: s.Health.Sandbox.Remedy},
		check{Name: "keychain", OK: s.Health.Keychain.State == "keychain" || s.Health.Keychain.State == "file", Words: s.Health.Keychain.Sentence, Remedy: s.Health.Keychain.Remedy},
		check{Name: "runs", OK: true, Words: fmt.Sprintf("%d queued, %d working, %d waiting for you", s.Runs.Queued, s.Runs.Running, s.Runs.Parked)},
	)
	for _, l := range s.Lanes {
		checks = append(checks, check{Name: "lane", OK: true, Words: fmt.Sprintf("%s: run %s since %s, %s, %d behind it", l.Session, l.RunID, when(l.SinceMs), l.Step, l.Waiting)})
	}
	for _, p := range s.Health.Problems {
		checks = append(checks, check{Name: "problem", Words: p.Sentence, Remedy: p.Remedy})
	}
	return append(checks, verified(ctx, g))
}

func verified(ctx context.Context, g *globals) check {
	v, err := ask[protocol.ReceiptsVerifyResult](ctx, g, reading(), protocol.MethodReceiptsVerify, protocol.Empty{})
	if err != nil {
		return check{Name: "receipts", Words: err.Error()}
	}
	return check{Name: "receipts", OK: v.OK, Words: v.Sentence}
}
