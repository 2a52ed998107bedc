-- As lines.py, but for the names of the texts, which are given one by one.
local dir = arg[1]
for i = 2, #arg do
  local at, n = {}, 0
  for line in io.lines(dir .. '/' .. arg[i] .. '.lines') do n = n + 1; at[line] = n end
  local function show(way, lines)
    local found = {}
    for line in lines do if line ~= '' then found[#found + 1] = at[line] or 0 end end
    print(arg[i] .. '\t' .. way .. '\t' .. table.concat(found, ','))
  end
  show('io.lines', io.lines(dir .. '/' .. arg[i] .. '.text'))
  local f = io.open(dir .. '/' .. arg[i] .. '.text', 'rb')
  local text = f:read('*a')
  show('gmatch', text:gmatch('[^\r\n]+'))
  f:close()
end
