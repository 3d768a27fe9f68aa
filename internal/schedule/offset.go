package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"time"
)

// Offset returns by how much to delay a source's ticks so that sources with the
// same schedule are spread over the window: 0 <= offset < window, in whole
// microseconds, which every store keeps; 0 for a window of 0 or less. It is the
// same after every restart and on every machine, and depends on nothing but its
// arguments. A change of the window scales it.
func Offset(user, provider string, window time.Duration) time.Duration {
	if window <= 0 {
		return 0
	}
	// The length keeps the parts apart: ("a", "bc") is not ("ab", "c").
	data := binary.BigEndian.AppendUint64(nil, uint64(len(user)))
	data = append(data, user...)
	data = append(data, provider...)
	sum := sha256.Sum256(data)
	// The upper half of hash times window is the hash as a fraction of it.
	offset, _ := bits.Mul64(binary.BigEndian.Uint64(sum[:8]), uint64(window))
	return time.Duration(offset).Truncate(time.Microsecond)
}
