package app

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
)

func TestFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want Flags
		err  error
	}{
		"nothing":      {nil, Flags{}, nil},
		"login":        {[]string{"--hidden", "--home", "/d"}, Flags{Hidden: true, Home: "/d"}, nil},
		"address":      {[]string{"countersign://show"}, Flags{}, nil},
		"guard":        {[]string{"--guard", "--", "/bin/x", "--hidden"}, Flags{Guard: []string{"/bin/x", "--hidden"}}, nil},
		"guard of air": {[]string{"--guard"}, Flags{}, ErrUsage},
		"unknown":      {[]string{"--port", "1"}, Flags{}, ErrUsage},
	} {
		got, err := ParseFlags(tc.args, &bytes.Buffer{})
		if !errors.Is(err, tc.err) || tc.err == nil && !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %+v, %v; want %+v, %v", name, got, err, tc.want, tc.err)
		}
	}
}
