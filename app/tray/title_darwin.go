package main

import (
	"strconv"

	"fyne.io/systray"
)

// setTitle shows the count beside the icon, where the menu bar has room for little else.
func setTitle(_ string, count int) {
	if count == 0 {
		systray.SetTitle("")
		return
	}
	systray.SetTitle(strconv.Itoa(count))
}
