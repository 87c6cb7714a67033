// Command modelstub runs the scripted model server by itself, for tests that are
// not written in Go. It prints its address and serves until it is ended; scripts
// are posted to /_script, and /_requests tells what was asked.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"

	"countersign/backend/testkit/modelstub"
)

func main() {
	addr := flag.String("listen", "127.0.0.1:0", "address to listen on")
	lenient := flag.Bool("lenient", false, "take any request")
	flag.Parse()
	s, err := modelstub.Serve(*addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if *lenient {
		s.Lenient()
	}
	fmt.Println(s.URL)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, os.Interrupt)
	<-ended
	if err := s.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
