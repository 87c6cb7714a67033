package protocol

// Block has no directive.
type Block interface{ kind() }
