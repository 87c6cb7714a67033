package main

import (
	"embed"
	"fmt"

	"countersign/app/traymsg"
)

//go:embed icons
var icons embed.FS

// picture returns the icon of a state and its template, which macOS colours itself.
func picture(s traymsg.Status) (icon, template []byte, err error) {
	icon, err = icons.ReadFile("icons/" + string(s) + iconExt)
	if err != nil {
		return nil, nil, fmt.Errorf("picture of state %q: %w", s, err)
	}
	template, err = icons.ReadFile("icons/" + string(s) + "-template.png")
	if err != nil {
		return nil, nil, fmt.Errorf("template of state %q: %w", s, err)
	}
	return icon, template, nil
}
