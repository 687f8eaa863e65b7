//go:build !linux

package metrics

// Process is the [Source] of what the system says of this process: nothing, on
// systems other than Linux.
func Process(*Writer) {}
