package gateway

import (
	"net"
	"net/http"
	"slices"
)

// origin is what our own pages come from, and what our own names are: the exact
// host:port strings of one listener on loopback.
type origin struct {
	hosts []string
}

// newOrigin lists the names of a loopback port. Port 80 is left out of a Host
// header by every client.
func newOrigin(port string) origin {
	o := origin{}
	for _, name := range []string{"127.0.0.1", "localhost", "::1"} {
		host := net.JoinHostPort(name, port)
		o.hosts = append(o.hosts, host)
		if port == "80" && name != "::1" {
			o.hosts = append(o.hosts, name)
		}
	}
	return o
}

// verdict is what the headers of a request say about who sent it.
type verdict struct {
	// refusal is why the request is refused; empty when it is not.
	refusal string
	// samePage says that a page of ours sent it, by an Origin that is exactly ours.
	samePage bool
}

// judge checks Host, Origin and the fetch metadata of a request. Names compare
// exactly, in lower case as every browser sends them: what is almost ours is not
// ours. It looks at nothing else, so that a refusal tells nothing about tickets
// and tokens.
func (o origin) judge(r *http.Request) verdict {
	if !slices.Contains(o.hosts, r.Host) {
		return verdict{refusal: "This address is not Countersign's. Open it as http://127.0.0.1 with its port."}
	}
	const foreign = "Another page asked for this. Countersign answers its own page only."
	from, origins := single(r.Header, "Origin")
	// The page's host is the one it asks: a page from localhost does not get to use
	// the cookie of 127.0.0.1.
	ours := origins == 1 && from == "http://"+r.Host
	if origins > 0 && !ours {
		return verdict{refusal: foreign}
	}
	site, sites := single(r.Header, "Sec-Fetch-Site")
	if isUpgrade(r) {
		// A browser always names the origin of a WebSocket; what it says of the site
		// differs, for to some a ws: address is another site than the page's http:.
		if sites > 0 && !ours {
			return verdict{refusal: foreign}
		}
		return verdict{samePage: ours}
	}
	if sites > 1 || sites == 1 && site != "same-origin" && site != "none" {
		return verdict{refusal: foreign}
	}
	if ours {
		return verdict{samePage: true}
	}
	return verdict{}
}

// single returns a header's value and how often it stands; a header that stands
// empty stands.
func single(h http.Header, name string) (string, int) {
	values := h.Values(name)
	if len(values) == 0 {
		return "", 0
	}
	return values[0], len(values)
}
