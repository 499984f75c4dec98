package cuda

import (
	"unsafe"

	"github.com/isohound/isohound/accel/cuda/driver"
)

// pieceBytes is how many bytes of a query and its answer are on the device at once, unless a
// single part of it takes more.
const pieceBytes = 64 << 20

// arena is memory of the device that is handed out in parts and freed as a whole, because the
// driver takes long to allocate.
type arena struct {
	d          *device
	p          driver.Ptr
	size, used int64
}

// padded rounds up to the alignment of the parts of an arena.
func padded(bytes int64) int64 { return (bytes + 255) &^ 255 }

// listBytes returns the size of a list in an arena.
func listBytes[T any](list []T) int64 {
	var one T
	return padded(int64(len(list)) * int64(unsafe.Sizeof(one)))
}

// arena allocates an arena. It must be called within do.
func (d *device) arena(bytes int64) (*arena, error) {
	a := &arena{d: d, size: max(256, bytes)}
	var err error
	a.p, err = d.lib.Alloc(a.size)
	return a, err
}

// free frees the arena, if there is one.
func (a *arena) free() {
	if a != nil && a.p != 0 {
		a.d.free(a.p)
		a.p = 0
	}
}

// take returns a part of the arena, which must have room for it.
func (a *arena) take(bytes int64) driver.Ptr {
	p := a.p + driver.Ptr(a.used)
	a.used += padded(bytes)
	if a.used > a.size {
		panic("accel/cuda: an arena is too small")
	}
	return p
}

// lend copies a list to the device. It must be called within do.
func lend[T any](a *arena, list []T) (driver.Ptr, error) {
	p := a.take(listBytes(list))
	if len(list) == 0 {
		return p, nil
	}
	return p, a.d.lib.Upload(p, unsafe.Pointer(&list[0]), int64(len(list))*int64(unsafe.Sizeof(list[0])))
}

// blank returns a part filled with zeros. It must be called within do.
func (a *arena) blank(bytes int64) (driver.Ptr, error) {
	p := a.take(bytes)
	if bytes == 0 {
		return p, nil
	}
	return p, a.d.lib.Fill(p, 0, bytes)
}

// spare returns the bytes that queries may still take.
func (d *device) spare() int64 { return max(0, d.piece-d.scratch.size) }

// room empties the arena that all queries share, and grows it to at least that size. It must be
// called within do.
func (d *device) room(need int64) (*arena, error) {
	d.scratch.used = 0
	if need = max(need, d.piece); need <= d.scratch.size {
		return &d.scratch, nil
	}
	old := d.scratch.p
	d.scratch = arena{d: d}
	if old != 0 {
		if err := d.lib.Free(old); err != nil {
			return nil, err
		}
	}
	a, err := d.arena(need)
	if err == nil {
		d.scratch = *a
	}
	return &d.scratch, err
}
