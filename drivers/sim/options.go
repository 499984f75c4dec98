package sim

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// options are the options in a DSN.
type options struct {
	off  map[protection]bool
	rate float64
	// lag is how many commits a replica is behind at most. It is also how many commits a defect
	// that reads an old state goes back at most.
	lag   int64
	nodes int
	yield float64
	seed  uint64
	// lies is the share of transactions of which the store tells a wrong commit position, and of which it tells a wrong snapshot.
	lies float64
	// window is the share of a session's time that is between the check and the writes of a commit, without commit-latch.
	window float64
}

func defaults() options {
	return options{off: map[protection]bool{}, rate: 0.1, lag: 8, nodes: 3, yield: 0.2, seed: 1, window: 0.01}
}

// names lists the protections that are off, in their fixed order.
func (o options) names() []string {
	var out []string
	for _, p := range protections {
		if o.off[p.id] {
			out = append(out, p.name)
		}
	}
	return out
}

// parse reads a DSN. Only protections of the isolation can be switched off.
func parse(dsn string, iso *isolation) (options, error) {
	o := defaults()
	if dsn == "" {
		return o, nil
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return o, err
	}
	if u.Scheme != "sim" || u.Host != "" || u.Path != "" && u.Path != "/" {
		return o, errors.Errorf("expected sim://?off=NAME,NAME and other options, not %q", dsn)
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return o, err
	}
	for name, list := range values {
		if len(list) > 1 {
			return o, errors.Errorf("%s is given twice", name)
		}
		if err := o.set(name, list[0], iso); err != nil {
			return o, err
		}
	}
	return o, nil
}

func (o *options) set(name, text string, iso *isolation) error {
	switch name {
	case "off":
		return o.switchOff(text, iso)
	case "rate":
		return share(name, text, true, &o.rate)
	case "yield":
		return share(name, text, false, &o.yield)
	case "lies":
		return share(name, text, false, &o.lies)
	case "window":
		return share(name, text, true, &o.window)
	case "lag":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 || n > 10_000 {
			return errors.Errorf("lag=%s: expected a number of commits from 1 to 10000", text)
		}
		o.lag = n
	case "nodes":
		n, err := strconv.Atoi(text)
		if err != nil || n < 2 || n > 100 {
			return errors.Errorf("nodes=%s: expected a number from 2 to 100", text)
		}
		o.nodes = n
	case "seed":
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return errors.Errorf("seed=%s: expected a whole number", text)
		}
		o.seed = n
	default:
		return errors.Errorf("unknown option %q; known are off, rate, lag, nodes, yield, seed, lies, window", name)
	}
	return nil
}

func share(name, text string, positive bool, to *float64) error {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0 && f <= 1) || positive && f == 0 {
		return errors.Errorf("%s=%s: expected a share, 0.1 say, up to 1", name, text)
	}
	*to = f
	return nil
}

func (o *options) switchOff(text string, iso *isolation) error {
	for _, name := range strings.Split(text, ",") {
		p := find(strings.TrimSpace(name))
		if p == nil {
			return errors.Errorf("there is no protection %q to switch off; there are %s", name, strings.Join(known(nil), ", "))
		}
		if !iso.keeps[p.id] {
			return errors.Errorf("isolation %q does not use %s; it uses %s", iso.Name, p.name, strings.Join(known(iso), ", "))
		}
		o.off[p.id] = true
	}
	return nil
}
