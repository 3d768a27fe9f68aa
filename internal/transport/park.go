package transport

import "time"

// ParkUntil returns when the run is to be taken up again.
func (e *WaitError) ParkUntil() time.Time { return e.Until }
