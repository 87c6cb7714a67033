// Package gateway is the one front door for clients: the window's page, a
// browser, the command line, another program. It owns the truth about
// connections: who is on the other side, what they may do, and what has been
// sent to them.
//
// One connection type serves every transport. A [Transport] carries text frames;
// the handshake, the scopes, the order of answers and events and the limits are
// the same over a WebSocket, the Unix socket, the window's calls and the
// in-memory pair of the tests.
//
// # Promises
//
//   - Nobody is trusted for being on loopback. What a connection may do follows
//     from how it came ([PeerKind]) and what it proved: the window and a browser
//     with our cookie may do everything; the Unix socket, whose user is checked,
//     may read, write and manage models; a token may read and write; a paired
//     device has the scopes it was given. Only the window, a browser and a paired
//     device can approve.
//   - Host and Origin are checked on every route, the page's files included.
//   - The answer to chat.send leaves before any event of its run, and the
//     chat.sends of one connection are taken in the order they came.
//   - A client's seq has no holes. Running text that a slow client has not taken
//     yet is merged, never queued piece by piece; a client that cannot keep up
//     with what must not be lost is closed, and no other client notices.
//   - A client with the capability countersign-changes that resumes gets every
//     durable change after the sequence it names, then the live ones, each once.
//   - Stop returns when no goroutine of the gateway runs.
//
// # How bad frames are answered
//
//	not JSON, no object, no usable id     close 1008
//	first frame is not a connect request  error INVALID_REQUEST, close 1008
//	frame of type res or event            error INVALID_REQUEST
//	unknown key, missing key, wrong type  error INVALID_REQUEST naming the key
//	unknown method                        error INVALID_REQUEST, UNKNOWN_METHOD
//	scope missing                         error FORBIDDEN, MISSING_SCOPE; after more than ten, close 1008
//	id of a call that is still running    close 1008, for no answer could be told apart
//	too many calls at once                error UNAVAILABLE, retryable
//	binary frame                          close 1003
//	frame over the limit                  close 1009
//	no connect within 15 s                close 1008
//	protocol range without 4              error PROTOCOL_MISMATCH, close 1002
//	outbound buffer full                  close 1008 "slow consumer"
//	host stopping                         event shutdown, close 1012
//
// # Refusals
//
// The package holds no state that must survive a restart: devices, the change
// log and every method's meaning come from the host as small interfaces and
// handlers. It listens on loopback only. It never sends an event or answers a
// method that is not in protocol's tables, and a handler whose types differ from
// the table is refused when it is registered.
package gateway
