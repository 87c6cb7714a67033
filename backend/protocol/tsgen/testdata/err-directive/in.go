package protocol

// Block names a type that is not there.
//
//tsgen:union type text=Nowhere
type Block interface{ kind() }
