//go:build !darwin

package main

import "fyne.io/systray"

// setTitle names the icon for panels that list icons by name, the count included.
func setTitle(name string, _ int) { systray.SetTitle(name) }
