package host

import (
	"context"
	"fmt"
	"log/slog"

	"countersign/backend/secret"
)

// masked is a log in which known secrets, and what looks like one, are hidden.
// Masking sits here and not at the places that log, where one would forget it.
type masked struct {
	next     slog.Handler
	redactor *secret.Redactor
}

// Enabled implements slog.Handler.
func (m masked) Enabled(ctx context.Context, level slog.Level) bool {
	return m.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (m masked) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, m.redactor.Redact(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(m.attr(a))
		return true
	})
	return m.next.Handle(ctx, out)
}

// WithAttrs implements slog.Handler.
func (m masked) WithAttrs(attrs []slog.Attr) slog.Handler {
	hidden := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		hidden[i] = m.attr(a)
	}
	return masked{m.next.WithAttrs(hidden), m.redactor}
}

// WithGroup implements slog.Handler.
func (m masked) WithGroup(name string) slog.Handler {
	return masked{m.next.WithGroup(name), m.redactor}
}

func (m masked) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, m.redactor.Redact(v.String()))
	case slog.KindGroup:
		group := make([]any, 0, len(v.Group()))
		for _, g := range v.Group() {
			group = append(group, m.attr(g))
		}
		return slog.Group(a.Key, group...)
	case slog.KindAny:
		return slog.String(a.Key, m.redactor.Redact(fmt.Sprint(v.Any())))
	}
	return a
}
