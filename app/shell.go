package app

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"countersign/app/notify"
	"countersign/app/traymsg"
	"countersign/backend/store"
)

const (
	// closeTimeout is how long the host may take to end cleanly when the owner quits.
	closeTimeout = 15 * time.Second
	// clickTimeout bounds what a click in the tray starts.
	clickTimeout = 10 * time.Second
	// lostTrayGrace is how long a hidden window waits for a tray that has gone: panels restart in a second or two.
	lostTrayGrace = 10 * time.Second
)

// The sentences of the window, in one place.
const (
	saysName    = "Countersign"
	saysNoTray  = "This desktop shows no tray icons, so Countersign cannot wait there. Closing the window will ask you whether to keep it running; starting Countersign again always brings the window back."
	asksClose   = "There is no tray here to wait in. Quit Countersign?\n\nNo keeps it at work, minimised. Yes quits it; nothing is lost, and what waits is kept."
	asksFolder  = "Choose a folder for your agent"
	saysGone    = "That question is no longer open. Nothing was changed by your click."
	saysFailed  = "Your answer could not be given, and nothing was changed. The window shows what waits."
	saysTaken   = "Countersign already runs on this data directory, but without a window: perhaps as \"countersign serve\". Your data is safe. Open its page in a browser, or stop it and start Countersign again."
	saysPauseNo = "The agent could not be paused or resumed. Nothing was changed."
)

// shell joins host, page, tray and notifications to the window. Its methods are safe for concurrent use.
type shell struct {
	log  *slog.Logger
	page *Page
	beat *heartbeat
	tray *tray
	note notify.Notifier
	once onceSaid

	ctx    context.Context // ends when the window ends
	cancel context.CancelFunc
	work   sync.WaitGroup // what ctx ends

	mu       sync.Mutex // guards the rest
	win      desktop    // nil before the window exists
	host     Host       // nil before the host is open
	wantShow bool       // asked for before the window existed
	hidden   bool
	watcher  bool
	heard    bool // the tray has said whether there is a watcher
	quitting bool
	restart  bool
	view     View
	noted    map[string]bool // approvals that a notification was tried for
}

// onceSaid remembers across starts that something has been said.
type onceSaid interface {
	// First reports whether the thing had not been said before, and remembers it.
	First(what string) bool
}

func newShell(log *slog.Logger, trayPath string, newNotifier func(opened func(string)) notify.Notifier, once onceSaid) *shell {
	s := &shell{log: log, once: once, noted: map[string]bool{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.beat = &heartbeat{ask: s.askPage}
	s.page = newPage(log, s.emit, s.beat.beat, s.chooseFolder)
	s.tray = newTray(trayPath, log, s.clicked, s.watching)
	s.note = newNotifier(func(key string) { s.reveal(key) })
	return s
}

func (s *shell) window() desktop {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.win
}

// emit sends an event to the page once there is a window; before, nobody could hear it.
func (s *shell) emit(name string, data ...any) {
	if w := s.window(); w != nil {
		w.Emit(name, data...)
	}
}

// chooseFolder asks the owner for a folder; without a window there is nobody to ask.
func (s *shell) chooseFolder() (string, error) {
	w := s.window()
	if w == nil {
		return "", errClosing
	}
	return w.ChooseFolder(asksFolder)
}

func (s *shell) askPage() {
	if w := s.window(); w != nil {
		w.Exec("window.go?.app?.Page?.Heartbeat()")
	}
}

// begin is called when the window exists. hidden says that it starts without being shown.
func (s *shell) begin(w desktop, hidden bool) {
	s.mu.Lock()
	s.win, s.hidden = w, hidden
	show := s.wantShow
	s.mu.Unlock()
	if show {
		s.show()
	}
	s.work.Go(func() { s.tray.run(s.ctx) })
	s.work.Go(s.guardPage)
}

// serve connects an open host.
func (s *shell) serve(h Host) {
	s.mu.Lock()
	s.host = h
	s.mu.Unlock()
	s.page.p.start(s.ctx, h.Serve)
	s.work.Go(func() { s.follow(h.Views()) })
}

// failed lets the page's calls end when there is no host.
func (s *shell) failed() { s.page.p.start(s.ctx, nil) }

func (s *shell) follow(views <-chan View) {
	for {
		select {
		case <-s.ctx.Done():
			return
		case v, open := <-views:
			if !open {
				return
			}
			s.mu.Lock()
			s.view = v
			s.mu.Unlock()
			s.tray.update(v)
			s.notify(v.Menu.Waiting)
		}
	}
}

// notify shows one notification for each approval that waits, and takes it away when it is decided.
func (s *shell) notify(waiting []traymsg.Waiting) {
	ctx, cancel := context.WithTimeout(s.ctx, clickTimeout)
	defer cancel()
	now := map[string]bool{}
	for _, w := range waiting {
		now[w.ID] = true
		if s.noted[w.ID] {
			continue
		}
		s.noted[w.ID] = true
		body := w.What
		if w.Where != "" {
			body += "\nin " + w.Where
		}
		err := s.note.Show(ctx, notify.Notification{Key: w.ID, Title: "Your agent asks", Body: body, Stay: true})
		if err != nil {
			s.log.Debug("no notification", "approval", w.ID, "err", err)
		}
	}
	for id := range s.noted {
		if !now[id] {
			delete(s.noted, id)
			if err := s.note.Close(ctx, id); err != nil {
				s.log.Debug("close notification", "approval", id, "err", err)
			}
		}
	}
}

// say tells the owner something: by a notification where there are any, else in a dialog.
func (s *shell) say(key, text string) {
	ctx, cancel := context.WithTimeout(s.ctx, clickTimeout)
	defer cancel()
	err := s.note.Show(ctx, notify.Notification{Key: key, Title: saysName, Body: text})
	if err == nil {
		return
	}
	if w := s.window(); w != nil {
		w.Tell(saysName, text)
	}
}

// show brings the window to the front.
func (s *shell) show() {
	s.mu.Lock()
	w := s.win
	s.wantShow = w == nil
	s.hidden = false
	s.mu.Unlock()
	if w != nil {
		w.Show()
	}
}

// reveal shows the window at one approval.
func (s *shell) reveal(approval string) {
	s.show()
	s.emit("show-approval", approval)
}

// watching is told whether the desktop shows tray icons.
func (s *shell) watching(on bool) {
	s.mu.Lock()
	first := !s.heard
	s.watcher, s.heard = on, true
	stranded := !on && s.hidden
	s.mu.Unlock()
	if on {
		return
	}
	if first {
		s.work.Go(s.sayNoTray)
	}
	if stranded {
		s.work.Go(s.rescue)
	}
}

// sayNoTray says once that there is no tray, if none has come up after a while:
// at login panels start when we do.
func (s *shell) sayNoTray() {
	select {
	case <-s.ctx.Done():
		return
	case <-time.After(lostTrayGrace):
	}
	s.mu.Lock()
	watcher := s.watcher
	s.mu.Unlock()
	if !watcher && s.once.First("no tray") {
		s.say("no tray", saysNoTray)
	}
}

// rescue shows a hidden window whose tray does not come back.
func (s *shell) rescue() {
	select {
	case <-s.ctx.Done():
		return
	case <-time.After(lostTrayGrace):
	}
	s.mu.Lock()
	stranded := s.hidden && !s.watcher
	s.mu.Unlock()
	if stranded {
		s.show()
	}
}

// beforeClose decides what closing the window means; true keeps it alive.
func (s *shell) beforeClose() bool {
	s.mu.Lock()
	w, quitting, watcher := s.win, s.quitting, s.watcher
	s.mu.Unlock()
	switch {
	case quitting || w == nil:
		return false
	case watcher:
		s.mu.Lock()
		s.hidden = true
		s.mu.Unlock()
		w.Hide()
		return true
	case !w.Ask(saysName, asksClose):
		w.Minimise()
		return true
	}
	s.mu.Lock()
	s.quitting = true
	s.mu.Unlock()
	return false
}

// quit ends the window, and with it everything.
func (s *shell) quit() {
	s.mu.Lock()
	s.quitting = true
	w := s.win
	s.mu.Unlock()
	if w != nil {
		w.Quit()
	}
}

// clicked carries a choice in the tray. It must not wait for the tray itself.
func (s *shell) clicked(c traymsg.Click) {
	switch c.Kind {
	case traymsg.Open:
		s.show()
	case traymsg.Show:
		s.reveal(c.ID)
	case traymsg.Quit:
		s.quit()
	case traymsg.Pause, traymsg.Resume:
		s.work.Go(func() { s.pause(c.Kind == traymsg.Pause) })
	case traymsg.Allow, traymsg.Deny:
		s.work.Go(func() { s.decide(c) })
	default:
		s.log.Warn("the tray sent a choice that is not known", "kind", c.Kind)
	}
}

func (s *shell) pause(on bool) {
	ctx, cancel := context.WithTimeout(s.ctx, clickTimeout)
	defer cancel()
	h := s.openHost()
	if h == nil {
		return
	}
	if err := h.SetPaused(ctx, on); err != nil {
		s.log.Error("pause from the tray", "paused", on, "err", err)
		s.say("pause", saysPauseNo)
	}
}

// decide answers an approval, if it is one that the tray was told it may answer: what the helper claims counts for
// nothing here.
func (s *shell) decide(c traymsg.Click) {
	s.mu.Lock()
	waiting := s.view.Menu.Waiting
	s.mu.Unlock()
	h := s.openHost()
	for _, w := range waiting {
		if w.ID != c.ID || w.Nonce != c.Nonce || h == nil {
			continue
		}
		if w.HighRisk && c.Kind == traymsg.Allow {
			s.reveal(c.ID)
			return
		}
		ctx, cancel := context.WithTimeout(s.ctx, clickTimeout)
		defer cancel()
		if err := h.Decide(ctx, c.ID, c.Nonce, c.Kind == traymsg.Allow); err != nil {
			s.log.Warn("decision from the tray", "approval", c.ID, "err", err)
			s.say("decision", saysFailed)
			s.reveal(c.ID)
		}
		return
	}
	s.say("decision", saysGone)
}

func (s *shell) openHost() Host {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.host
}

// guardPage restarts the window when its page has died: Wails cannot bring it back, and the host loses nothing by it.
func (s *shell) guardPage() {
	if !s.beat.watch(s.ctx) {
		return
	}
	s.log.Error("the window's page has died; the window is started again")
	s.mu.Lock()
	s.restart = true
	s.mu.Unlock()
	s.quit()
}

// end closes everything and returns when nothing of the shell runs. It is called once the window's loop has ended.
func (s *shell) end() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	s.mu.Lock()
	h := s.host
	s.mu.Unlock()
	if h != nil {
		if err := h.Close(ctx); err != nil {
			s.log.Error("close the host", "err", err)
		}
	}
	s.cancel()
	s.page.p.stop()
	s.work.Wait()
	s.note.Stop()
}

// restarting reports whether the program is to be started again.
func (s *shell) restarting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.restart
}

// failure turns an error of opening the host into what the owner reads. The store's own refusals are sentences already.
func failure(err error) string {
	var newer *store.NewerFormatError
	var corrupt *store.CorruptError
	switch {
	case errors.As(err, &newer):
		return newer.Error()
	case errors.As(err, &corrupt):
		return corrupt.Error()
	}
	return "Countersign could not open your data. Nothing was changed.\n\nDetails: " + err.Error()
}
