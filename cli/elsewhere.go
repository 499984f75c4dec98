//go:build !front

package cli

// elsewhere has the windows of a run judged on other machines.
type elsewhere interface {
	// begin is called before the first window.
	begin(w *windowRun)
	// put publishes a window that is complete. It returns at once.
	put(number int, path, digest string)
	// next is windowJudge.next: it returns when the window is judged and counted.
	next(path string) error
	// serve lets load generators join the run. handle answers what they say; nudge tells them that there is
	// something new. join is how to join.
	serve(handle func([]byte) []byte) (nudge func(), join string, err error)
	// judges is how many judges are at work.
	judges() int
	// done ends what begin began. It tells who judged.
	done()
}

// natsServer are the flags that say where a NATS server is.
type natsServer struct{ url, creds, ca string }

const natsCredsHelp, natsCAHelp = "file with credentials for the NATS server (JWT and seed)", "PEM file with the certificates that may sign that of the NATS server"

// checkPublish looks whether the flags of a run fit together.
func (o *runOptions) checkPublish() error {
	switch {
	case o.publish.url == "" && (o.publish.creds != "" || o.publish.ca != ""):
		return usage("--nats-creds and --nats-ca need --publish")
	case o.publish.url != "" && o.cutEvery == "":
		return usage("--publish needs --cut-every: windows are what is judged on other machines")
	case o.publish.url == "" && o.loaders != "":
		return usage("--loaders needs --publish: load generators join through a NATS server")
	}
	return nil
}
