-- Sends prepared requests: <heads file> <lines file> <once|again>.
-- A line is the number of its head, a space, and its body. Everything is built before the start, so
-- that the client uses as little CPU as possible.

local threads = {}
local requests, count, place, again = {}, 0, 0, false
starved = 0

function setup(thread)
  threads[#threads + 1] = thread
end

function init(arguments)
  local heads = {}
  for head in io.lines(arguments[1]) do
    heads[#heads + 1] = (head:gsub("|", "\r\n"))
  end
  for line in io.lines(arguments[2]) do
    local number, body = line:match("^(%d+) (.*)$")
    local head = heads[tonumber(number) + 1]
    count = count + 1
    if body == "" then
      requests[count] = head .. "\r\n"
    else
      requests[count] = head .. "Content-Length: " .. #body .. "\r\n\r\n" .. body
    end
  end
  again = arguments[3] == "again"
end

function request()
  place = place + 1
  if place > count then
    place = 1
    if not again then starved = starved + 1 end
  end
  return requests[place]
end

function done(summary, latency, _)
  local without = 0
  for _, thread in ipairs(threads) do
    without = without + thread:get("starved")
  end
  local errors = summary.errors
  io.write(string.format(
    'BENCH {"requests":%d,"seconds":%.6f,"p50":%.4f,"p99":%.4f,"refused":%d,"broken":%d,"starved":%d}\n',
    summary.requests, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.status, errors.connect + errors.read + errors.write + errors.timeout, without))
end
