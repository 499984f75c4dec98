package cuda

import (
	"unsafe"

	"github.com/isohound/isohound/accel/cuda/driver"
)

// pieceBytes is how much of a question, with its answer, is on the device at
// once, unless a single part of it takes more.
const pieceBytes = 64 << 20

// scratch is memory of the device that questions share, one after the other.
type scratch struct {
	p    driver.Ptr
	size int64
	used int64
}

// spare returns the bytes that questions may still take.
func (d *device) spare() int64 { return max(0, d.piece-d.scratch.size) }

// room makes the scratch empty, of at least so many bytes. Within do.
func (d *device) room(need int64) (err error) {
	s := &d.scratch
	s.used = 0
	if need = max(need, d.piece); need <= s.size {
		return nil
	}
	if s.p != 0 {
		p := s.p
		s.p, s.size = 0, 0
		if err := d.lib.Free(p); err != nil {
			return err
		}
	}
	if s.p, err = d.lib.Alloc(need); err == nil {
		s.size = need
	}
	return err
}

// padded rounds up to what parts of the scratch begin at.
func padded(bytes int64) int64 { return (bytes + 255) &^ 255 }

// take returns a part of the scratch; room has to be enough.
func (d *device) take(bytes int64) driver.Ptr {
	p := d.scratch.p + driver.Ptr(d.scratch.used)
	d.scratch.used += padded(bytes)
	if d.scratch.used > d.scratch.size {
		panic("accel/cuda: scratch too small")
	}
	return p
}

// lend copies a list into the scratch. Within do.
func lend[T any](d *device, list []T) (driver.Ptr, error) {
	if len(list) == 0 {
		return d.take(0), nil
	}
	bytes := int64(len(list)) * int64(unsafe.Sizeof(list[0]))
	p := d.take(bytes)
	return p, d.lib.Upload(p, unsafe.Pointer(&list[0]), bytes)
}

// blank takes a part of the scratch with zeros. Within do.
func (d *device) blank(bytes int64) (driver.Ptr, error) {
	p := d.take(bytes)
	return p, d.lib.Fill(p, 0, bytes)
}
