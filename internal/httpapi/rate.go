package httpapi

import (
	"strconv"
	"time"
)

// Rate is how often something may be done: Limit times at once, and as many
// again in each Per, evenly. The zero Rate is no limit.
type Rate struct {
	Limit int           // at least 1
	Per   time.Duration // at least a microsecond for each of Limit
}

// quota is a Rate made ready for the request path. What it knows of one caller
// is a single time, the one at which the caller's quota will be whole again:
// the generic cell rate algorithm (ITU-T I.371, annex A). Against
// golang.org/x/time/rate that is 8 bytes a caller in place of 64, no time but
// that one to keep, and an answer to "how many are left".
type quota struct {
	limit    int
	interval time.Duration // in which one comes back
	window   time.Duration // in which all do
	start    time.Time     // times are counted from here, by the monotonic clock

	limitText []string
	decimals  [][]string // 0, 1, 2, …: header values, so that none is made for a request
}

// maxDecimals bounds the numbers for which header values are kept.
const maxDecimals = 1 << 10

func newQuota(r Rate) quota {
	interval := max(r.Per/time.Duration(r.Limit), time.Nanosecond)
	q := quota{
		limit:     r.Limit,
		interval:  interval,
		window:    interval * time.Duration(r.Limit),
		start:     time.Now(),
		limitText: []string{strconv.Itoa(r.Limit)},
	}
	for n := range min(max(r.Limit, seconds(q.window))+1, maxDecimals) {
		q.decimals = append(q.decimals, []string{strconv.Itoa(n)})
	}
	return q
}

func (q *quota) now() time.Duration { return time.Since(q.start) }

// take uses one, if one is left, and returns when the quota is whole again.
func (q *quota) take(whole, now time.Duration) (time.Duration, bool) {
	whole = max(whole, now)
	if whole+q.interval > now+q.window {
		return whole, false
	}
	return whole + q.interval, true
}

// describe says in the headers of an answer what is left.
func (q *quota) describe(h map[string][]string, whole, now time.Duration) {
	missing := max(whole-now, 0)
	h["Ratelimit-Limit"] = q.limitText
	h["Ratelimit-Remaining"] = q.decimal(int((q.window - missing) / q.interval))
	h["Ratelimit-Reset"] = q.decimal(seconds(missing))
}

// refuse says in the headers of an answer when the next one is left.
func (q *quota) refuse(h map[string][]string, whole, now time.Duration) {
	q.describe(h, whole, now)
	h["Retry-After"] = q.decimal(max(seconds(whole+q.interval-q.window-now), 1))
}

// decimal is a header value. It is shared: header values are replaced, never
// written into.
func (q *quota) decimal(n int) []string {
	if n < len(q.decimals) {
		return q.decimals[n]
	}
	return []string{strconv.Itoa(n)}
}

// seconds rounds up: who comes back then does not come too early.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
