// Package place turns the paths that an agent writes into files of its folders.
//
// It owns one question: which real file does this name mean, and may the agent
// reach it. Resolve answers by walking the name inside os.Root, link by link,
// and changes nothing. Opening goes down from the folder again, one directory
// handle at a time, and follows no link at all: a name that has become a link,
// or another directory, since it was resolved is tool.ErrPlanChanged. So a link
// swapped at any moment can make an act fail and never leave the folders.
//
// It refuses paths that lie in no folder, whatever leads there ("..", a link, an
// absolute path), paths in Env.Hide, the system's own file trees (/proc, /sys,
// /dev), links to nothing, and names that are not valid text. A hard link is the
// same file as its other name and cannot be told apart from it.
package place
