// The parts of a method as a tree: inputs, groups of instructions, calls of delegates with the operations of their
// payloads, outputs. What is open is drawn.

// More items beside each other are in blocks of BLOCK.
const MANY = 30;
const BLOCK = 10;
// Most nodes that "Expand all" draws.
const DRAWN = 5000;
// Most operations of a payload that is open from the beginning, and of all such payloads.
const OPENED = { payload: 300, all: 600 };
// More inputs or outputs are a group.
const PORTS = 8;
// Most lines of a stack trace that are groups.
const LEVELS = 32;

// The tree of a method. `pathOf` returns the labels of the groups of an instruction, the outermost first.
function methodTree(method, pathOf) {
  const paths = method.nodes.map(pathOf);
  const port = (role) => (_, position) => ({ role, position });
  const ports = (role, values) => {
    const children = values.map(port(role));
    if (children.length <= PORTS) return children;
    return [{ label: counted(children.length, role), role, children, open: false }];
  };
  const body = groups(method, paths, 0, 0, method.nodes.length);
  return [...ports("input", method.inputs), ...body, ...ports("output", method.outputs)];
}
// A group is a run of consecutive instructions whose paths begin alike.
function groups(method, paths, depth, start, end) {
  const items = [];
  for (let at = start; at < end; ) {
    const label = paths[at][depth];
    let stop = at + 1;
    if (label !== undefined) while (stop < end && paths[stop][depth] === label) stop++;
    if (label === undefined || stop - at === 1) items.push(call(method, at));
    else {
      // A level that separates nothing is left out.
      const children = groups(method, paths, depth + 1, at, stop);
      if (stop - at === end - start && depth > 0) return children;
      items.push({ label, start: at, end: stop, children, open: false });
    }
    at = Math.max(stop, at + 1);
  }
  const range = (item) => [item.start, item.end];
  return blocks(items, "instructions", range, ([start, end]) => ({ start, end }));
}
// An instruction; a call whose payload is decoded has its operations as children, made when they are needed.
function call(method, node) {
  const item = { node, start: node, end: node + 1 };
  const payload = data.graph.payloads[method.delegates[method.nodes[node].delegate]?.payload];
  if (!payload) return item;
  let made = null;
  const make = () => blocks(payload.nodes.map((_, operation) => ({ node, operation })), "operations",
    (part) => part.range ?? [part.operation, part.operation + 1], (operations) => ({ node, range: operations }));
  return Object.defineProperty({ ...item, payload, open: false }, "children", { get: () => (made ??= make()) });
}
function blocks(items, noun, range, fields) {
  if (items.length <= MANY) return items;
  const parts = [];
  for (let at = 0; at < items.length; at += BLOCK) parts.push(items.slice(at, at + BLOCK));
  return blocks(parts.map((children) => {
    const [start, end] = [range(children[0])[0], range(children.at(-1))[1]];
    return { label: `${noun} ${start} to ${end - 1}`, short: `${start} to ${end - 1}`, children, open: false, ...fields([start, end]) };
  }), noun, range, fields);
}
// The operations of a payload are made when it is opened, so this does not ask for them.
const isOpenable = (item) => item?.payload !== undefined || item?.children !== undefined;
// What an open item adds to the picture: a payload is beside its call, a group is replaced.
const added = (item) => (item.payload ? blockCount(item.payload.nodes.length) : item.children.length - 1);
const blockCount = (count) => (count <= MANY ? count : blockCount(Math.ceil(count / BLOCK)));
// What all of a block adds to the picture, without payloads in it.
const addedByAll = (item) => item.children.reduce((sum, child) => sum + (isGroup(child) ? addedByAll(child) : 0), added(item));
const isGroup = (item) => item.payload === undefined && item.children !== undefined;
// Opens items, from the outside, up to a number of nodes. Blocks are opened as a whole, from the first one on.
function openUpTo(tree, most) {
  let count = tree.length;
  let isBlockOpen = false;
  const queue = tree.filter(isOpenable);
  for (let at = 0; at < queue.length; at++) {
    const item = queue[at];
    if (count + added(item) > most) continue;
    if (item.short) {
      const all = addedByAll(item);
      if (count + all <= most) {
        openAll(item);
        eachCall([item], (found) => queue.push(found));
        count += all;
        isBlockOpen = true;
        continue;
      }
      if (isBlockOpen) continue;
    }
    item.open = true;
    count += added(item);
    for (const child of item.children) if (isOpenable(child)) queue.push(child);
  }
}
function close(items) {
  for (const item of items) {
    if (!item.open) continue;
    item.open = false;
    close(item.children);
  }
}
// All groups, without those in payloads.
function eachGroup(items, visit) {
  for (const item of items) if (isGroup(item)) { visit(item); eachGroup(item.children, visit); }
}
function eachCall(items, visit) {
  for (const item of items) {
    if (item.payload) visit(item);
    else if (item.children) eachCall(item.children, visit);
  }
}
// Opens a payload, or a block without the payloads in it.
function openAll(item) {
  item.open = true;
  for (const child of item.children) if (isGroup(child)) openAll(child);
}
// Opens a tree for the beginning: as many nodes as are legible, and payloads of up to OPENED operations, the first one
// first. Returns true if there are such payloads.
function openFirst(tree, most) {
  openUpTo(tree, Math.max(most, MANY));
  let left = OPENED.all;
  let isFirst = true;
  eachCall(tree, (item) => {
    const count = item.payload.nodes.length;
    if (count > OPENED.payload || count > left) return;
    left -= count;
    openAll(item);
    if (isFirst) openPath(tree, item.node);
    isFirst = false;
  });
  return !isFirst;
}
// Opens what contains an instruction, and in its payload an operation. Returns true if something was closed.
function openPath(items, node, operation) {
  let changed = false;
  for (const item of items) {
    if (!isOpenable(item) || item.role) continue;
    const [start, end] = item.range ?? [item.start, item.end];
    const wanted = item.range ? operation : node;
    if (wanted === undefined || wanted < start || end <= wanted || (item.payload && operation === undefined)) continue;
    changed = !item.open || changed;
    item.open = true;
    changed = openPath(item.children, node, operation) || changed;
  }
  return changed;
}
