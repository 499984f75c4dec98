package native

import "io"

// aheadFrom is from what size on other goroutines decompress a file and read its predicates, in bytes.
const aheadFrom = 1 << 20

// aheadBuffers of aheadBuffer bytes each are read ahead.
const (
	aheadBuffers = 4
	aheadBuffer  = 128 << 10
)

// ahead reads from another reader in a goroutine. It yields nothing before a buffer is full, so it is not for pipes.
type ahead struct {
	full  chan chunk
	free  chan []byte
	stop  chan struct{}
	ended chan struct{}
	now   chunk
	at    int // of now.data has been read
}

// chunk is what was read, and the error after it.
type chunk struct {
	data []byte
	err  error
}

func newAhead(r io.Reader) *ahead {
	a := &ahead{make(chan chunk, aheadBuffers), make(chan []byte, aheadBuffers), make(chan struct{}), make(chan struct{}), chunk{}, 0}
	for range aheadBuffers {
		a.free <- make([]byte, aheadBuffer)
	}
	go a.run(r)
	return a
}

func (a *ahead) run(r io.Reader) {
	defer close(a.ended)
	for err := error(nil); err == nil; {
		var buf []byte
		select {
		case buf = <-a.free:
		case <-a.stop:
			return
		}
		n := 0
		for n < len(buf) && err == nil { // a recorded file has many small blocks, each of which is a read
			var more int
			more, err = r.Read(buf[n:])
			n += more
		}
		a.full <- chunk{buf[:n], err} // there is room for all buffers
	}
}

func (a *ahead) Read(b []byte) (int, error) {
	for a.at == len(a.now.data) {
		if a.now.err != nil {
			return 0, a.now.err
		}
		if a.now.data != nil {
			a.free <- a.now.data[:aheadBuffer]
		}
		select {
		case a.now = <-a.full:
		case <-a.ended: // with an error, or by close
			select {
			case a.now = <-a.full:
			default:
				a.now = chunk{err: io.ErrClosedPipe}
			}
		}
		a.at = 0
	}
	n := copy(b, a.now.data[a.at:])
	a.at += n
	return n, nil
}

// close ends the goroutine, and waits until it reads no more.
func (a *ahead) close() {
	close(a.stop)
	<-a.ended
}
