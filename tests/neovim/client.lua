-- Neovim as a client of `pte-emit lsp`, without a screen: prints messages, a description, completions, a rename and the
-- layout of a text as JSON. tests/suite/lsp.rs runs it and compares.
local path, binary = vim.env.PTE_EMIT_TEXT, vim.env.PTE_EMIT
vim.cmd("edit " .. path)
local id = vim.lsp.start_client({ name = "pte_emit", cmd = { binary, "lsp" }, root_dir = vim.fn.getcwd() })
vim.lsp.buf_attach_client(0, id)

local function wait(what, holds)
  if not vim.wait(20000, holds, 20) then
    io.stderr:write("no answer: " .. what .. "\n")
    vim.cmd("cquit")
  end
end

--- Position of the cursor of a request: after the first occurrence of a text.
local function at(text)
  for number, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, true)) do
    local _, last = line:find(text, 1, true)
    if last then
      vim.api.nvim_win_set_cursor(0, { number, last - 1 })
      return vim.lsp.util.make_position_params()
    end
  end
end

local function ask(method, params)
  local answers = vim.lsp.buf_request_sync(0, method, params, 20000)
  return answers and answers[id] and answers[id].result
end

local function messages()
  return vim.tbl_map(function(found) return found.lnum + 1 .. ": " .. found.message:match("[^\n]*") end, vim.diagnostic.get(0))
end

wait("messages", function() return #vim.diagnostic.get(0) > 0 end)
local out = { messages = messages() }
out.hover = ask("textDocument/hover", at("out: s")).contents.value
local params = at("kernel: aten::re")
local items = ask("textDocument/completion", params)
out.completions = #(items.items or items) > 0
-- Correct the name, and wait for the messages of the new text.
vim.cmd([[%s/aten::re\>/aten::relu.out/]])
wait("no messages", function() return #vim.diagnostic.get(0) == 0 end)
local rename = at("out: s")
rename.newName = "sum"
vim.lsp.util.apply_workspace_edit(ask("textDocument/rename", rename), "utf-16")
local edits = ask("textDocument/formatting", { textDocument = vim.lsp.util.make_text_document_params(), options = { tabSize = 2, insertSpaces = true } })
vim.lsp.util.apply_text_edits(edits, 0, "utf-16")
out.text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), "\n")
io.stdout:write(vim.json.encode(out))
vim.cmd("qa!")
