package notify

import (
	"context"
	"fmt"
	"html"
	"log/slog"
	"slices"
	"sync"
	"time"

	"countersign/app/sessionbus"

	"github.com/godbus/dbus/v5"
)

const (
	busName = "org.freedesktop.Notifications"
	busPath = "/org/freedesktop/Notifications"

	urgencyNormal   = byte(1)
	urgencyCritical = byte(2)
	neverExpire     = int32(0)
	usualExpiry     = int32(-1)
	closeTimeout    = time.Second
)

// service is the notification service of the session bus. The connection is made at the first use, and again when the
// bus or the service was lost.
type service struct {
	log    *slog.Logger
	opened func(key string)

	mu    sync.Mutex // guards the rest; held over calls, so that show and close of one key keep their order
	conn  *dbus.Conn
	text  textRules
	shown map[string]uint32 // by key
	done  sync.WaitGroup
}

type textRules struct{ actions, markup bool }

// New makes a notifier. opened is called with the key when the owner chooses to see what a notification is about; it
// must not call the notifier.
func New(log *slog.Logger, opened func(key string)) Notifier {
	return &service{log: log, opened: opened, shown: map[string]uint32{}}
}

func (s *service) Show(ctx context.Context, n Notification) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.connect(ctx); err != nil {
		return err
	}
	hints := map[string]dbus.Variant{
		"urgency":       dbus.MakeVariant(urgencyNormal),
		"desktop-entry": dbus.MakeVariant("countersign"),
		"category":      dbus.MakeVariant("im.received"),
	}
	expiry := usualExpiry
	if n.Stay {
		hints["urgency"] = dbus.MakeVariant(urgencyCritical)
		hints["resident"] = dbus.MakeVariant(true)
		expiry = neverExpire
	}
	var actions []string
	if s.text.actions {
		actions = []string{"default", "Show", "show", "Show"}
	}
	body := n.Body
	if s.text.markup {
		body = html.EscapeString(body)
	}
	var id uint32
	err := s.object().CallWithContext(ctx, busName+".Notify", 0,
		"Countersign", s.shown[n.Key], "countersign", n.Title, body, actions, hints, expiry).Store(&id)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	s.shown[n.Key] = id
	return nil
}

func (s *service) Close(ctx context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.shown[key]
	if !ok || s.conn == nil {
		return nil
	}
	delete(s.shown, key)
	if err := s.object().CallWithContext(ctx, busName+".CloseNotification", 0, id).Err; err != nil {
		// The service answers an error for one the owner has closed already.
		s.log.Debug("close notification", "key", key, "err", err)
	}
	return nil
}

func (s *service) Stop() {
	s.mu.Lock()
	keys := make([]string, 0, len(s.shown))
	for key := range s.shown {
		keys = append(keys, key)
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	for _, key := range keys {
		// Close has no failure that anybody could act on at the end.
		_ = s.Close(ctx, key)
	}
	s.mu.Lock()
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
	s.mu.Unlock()
	s.done.Wait()
}

func (s *service) object() dbus.BusObject { return s.conn.Object(busName, busPath) }

// connect is called with the lock held.
func (s *service) connect(ctx context.Context) error {
	if s.conn != nil && s.conn.Connected() {
		return nil
	}
	// The connection outlives the call, so it does not take the call's context.
	conn, err := sessionbus.Connect(context.WithoutCancel(ctx))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	var can []string
	if err := conn.Object(busName, busPath).CallWithContext(ctx, busName+".GetCapabilities", 0).Store(&can); err != nil {
		_ = conn.Close()
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err := conn.AddMatchSignalContext(ctx, dbus.WithMatchInterface(busName), dbus.WithMatchObjectPath(busPath)); err != nil {
		_ = conn.Close()
		return fmt.Errorf("listen for notifications: %w", err)
	}
	signals := make(chan *dbus.Signal, 32)
	conn.Signal(signals)
	s.conn, s.shown = conn, map[string]uint32{}
	s.text = textRules{actions: slices.Contains(can, "actions"), markup: slices.Contains(can, "body-markup")}
	s.done.Go(func() { s.follow(signals) })
	return nil
}

// follow handles signals until the connection closes, which closes their channel.
func (s *service) follow(signals <-chan *dbus.Signal) {
	for sig := range signals {
		if len(sig.Body) < 2 {
			continue
		}
		id, ok := sig.Body[0].(uint32)
		if !ok {
			continue
		}
		switch sig.Name {
		case busName + ".ActionInvoked":
			if key, ok := s.keyOf(id); ok {
				s.opened(key)
			}
		case busName + ".NotificationClosed":
			// The owner may put it away undecided; it is not brought back, for the tray and the window still say it.
			if key, ok := s.keyOf(id); ok {
				s.forget(key)
			}
		}
	}
}

func (s *service) keyOf(id uint32) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, shown := range s.shown {
		if shown == id {
			return key, true
		}
	}
	return "", false
}

func (s *service) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.shown, key)
}
