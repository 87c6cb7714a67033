package files

// TempName shows where a plan's new content waits.
var TempName = tempName
