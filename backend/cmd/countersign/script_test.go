package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"countersign/backend/protocol"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"countersign": main})
}

// Each script is a conversation with the command line on a data directory of its
// own, with a real host that `serve` starts and the end of the script stops.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("COUNTERSIGN_HOME", env.WorkDir+"/data")
			env.Setenv("XDG_RUNTIME_DIR", env.WorkDir+"/no-runtime")
			env.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve":    serveInScript,
			"exits":    exits,
			"approval": firstApproval,
			"receipt":  firstReceipt,
			"until":    until,
			"browse":   browse,
			"match":    match,
		},
	})
}

// serve [ARG…] starts a host and waits until it is ready; $TICKET, $URL and
// $WS are what it printed.
func serveInScript(ts *testscript.TestScript, _ bool, args []string) {
	path := ""
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if p := filepath.Join(dir, "countersign"); path == "" {
			if _, err := os.Stat(p); err == nil {
				path = p
			}
		}
	}
	cmd := exec.Command(path, append([]string{"serve"}, args...)...)
	cmd.Dir = ts.Getenv("WORK")
	for _, name := range []string{"HOME", "COUNTERSIGN_HOME", "PATH", "XDG_RUNTIME_DIR"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	var errs strings.Builder
	cmd.Stderr = &errs
	ts.Check(cmd.Start())
	ts.Defer(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			ts.Logf("serve ended: %v\n%s", err, errs.String())
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		ts.Fatalf("serve is not ready: %v\n%s", err, errs.String())
	}
	var r ready
	ts.Check(json.Unmarshal([]byte(line), &r))
	ts.Setenv("TICKET", r.Ticket)
	ts.Setenv("URL", r.URL)
	ts.Setenv("WS", r.WS)
}

// exits STATUS COMMAND… runs a command that must end with the status.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	status := 0
	var exit *exec.ExitError
	if err != nil {
		if e, ok := err.(*exec.ExitError); ok {
			exit = e
		}
		if exit == nil {
			ts.Fatalf("%v", err)
		}
		status = exit.ExitCode()
	}
	if want := args[0]; want != statusText(status) {
		ts.Fatalf("%s ended with %d, not %s", strings.Join(args[1:], " "), status, want)
	}
}

func statusText(n int) string { return string(rune('0' + n)) }

func inScript[R any](ts *testscript.TestScript, m protocol.Method, params any) R {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, err := ask[R](ctx, &globals{home: ts.Getenv("COUNTERSIGN_HOME")}, reading(), m, params)
	ts.Check(err)
	return out
}

// approval sets $APPROVAL to the id of what waits.
func firstApproval(ts *testscript.TestScript, _ bool, _ []string) {
	list := inScript[[]protocol.Approval](ts, protocol.MethodApprovalList, protocol.ApprovalListParams{})
	if len(list) == 0 {
		ts.Fatalf("nothing waits")
	}
	ts.Setenv("APPROVAL", string(list[0].ID))
}

// receipt sets $RECEIPT to the id of the newest receipt.
func firstReceipt(ts *testscript.TestScript, _ bool, _ []string) {
	list := inScript[protocol.ReceiptsList](ts, protocol.MethodReceiptsList, protocol.ReceiptsListParams{})
	if len(list.Receipts) == 0 {
		ts.Fatalf("there is no receipt")
	}
	ts.Setenv("RECEIPT", string(list.Receipts[0].ID))
}

// until STATE waits until the newest run is in a state.
func until(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c, err := dial(ctx, &globals{home: ts.Getenv("COUNTERSIGN_HOME")}, reading())
	ts.Check(err)
	defer func() { ts.Check(c.Close()) }()
	for {
		var list protocol.RunsList
		ts.Check(call(ctx, c, protocol.MethodRunsList, protocol.RunsListParams{Limit: 1}, &list))
		if len(list.Runs) > 0 && string(list.Runs[0].State) == args[0] {
			return
		}
		_, err := c.Event(ctx) // something changes
		ts.Check(err)
	}
}

// browse STATUS LINK opens a link as a browser would, and must be answered so.
func browse(ts *testscript.TestScript, _ bool, args []string) {
	browser := http.Client{
		Timeout:       20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := browser.Get(args[1])
	ts.Check(err)
	ts.Check(res.Body.Close())
	browser.CloseIdleConnections()
	if fmt.Sprint(res.StatusCode) != args[0] {
		ts.Fatalf("%s was answered %s", args[1], res.Status)
	}
}

// match NAME PATTERN sets a variable to what the pattern's group is in the last
// standard output.
func match(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if found == nil {
		ts.Fatalf("nothing is like %s", args[1])
	}
	ts.Setenv(args[0], found[1])
}
