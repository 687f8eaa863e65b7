-- Repeats one request, replaces 0000000000 in it by the next id each time, and
-- prints the result in one line.
--
-- Arguments: method, path, body (may be empty), token, first id, last id (after
-- it the ids begin again).

local before, after, id, first, last

function init(args)
  local method, path, body, token = args[1], args[2], args[3], args[4]
  first, last = tonumber(args[5]), tonumber(args[6])
  id = first
  local headers = { ["Authorization"] = "Bearer " .. token }
  if body == "" then body = nil else headers["Content-Type"] = "application/json" end
  local text = wrk.format(method, path, headers, body)
  local from, to = text:find("0000000000", 1, true)
  if from then
    before, after = text:sub(1, from - 1), text:sub(to + 1)
  else
    before = text
  end
end

-- The request is concatenated from two halves: wrk.format would cost more CPU than
-- some servers need for the response.
function request()
  if not after then return before end
  local text = before .. string.format("%d", id) .. after
  if id < last then id = id + 1 else id = first end
  return text
end

function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format("result %d %d %d %d %d\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), e.connect + e.read + e.write + e.status + e.timeout))
end
