package protocol

// Text is a part.
type Text struct {
	Text string `json:"text"`
}

// Event has no field named data.
//
//tsgen:discriminate stream data a=Text b=Text
type Event struct {
	Stream string `json:"stream"`
}
