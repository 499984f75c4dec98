package native

import "io"

// aheadFrom is from what size on a compressed file is decompressed by another goroutine, in bytes.
const aheadFrom = 1 << 20

// ahead reads from another reader in a goroutine, one buffer ahead. It yields nothing before a buffer is full, so it is
// not for pipes.
type ahead struct {
	*io.PipeReader
	ended chan struct{}
}

func newAhead(r io.Reader) *ahead {
	pr, pw := io.Pipe()
	a := &ahead{pr, make(chan struct{})}
	go func() {
		defer close(a.ended)
		// A recorded file has many small blocks, each of which is a read. The line reader takes all of a buffer at once, and
		// the next one is filled while it looks for lines.
		buf := make([]byte, 256<<10)
		for {
			n, err := 0, error(nil)
			for n < len(buf) && err == nil {
				var more int
				more, err = r.Read(buf[n:])
				n += more
			}
			if _, closed := pw.Write(buf[:n]); closed != nil || err != nil {
				pw.CloseWithError(err)
				return
			}
		}
	}()
	return a
}

// close ends the goroutine, and waits until it reads no more.
func (a *ahead) close() {
	_ = a.PipeReader.Close()
	<-a.ended
}
