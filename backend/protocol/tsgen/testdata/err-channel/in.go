package protocol

// Row holds what no JSON can.
type Row struct {
	Wait chan int `json:"wait"`
}
