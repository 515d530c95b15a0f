const MAX = 64;
/** The tree joins a node with fewer entries with a neighbor, if the neighbor has space. */
const MIN = 16;

/**
 * Compares two keys in the order of their bytes, as etcd does. Names are ASCII, so a comparison of code units is
 * sufficient.
 */
export const compareKeys = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * A leaf of the tree. A leaf contains keys, and an inner node contains nodes. `size` is the number of keys below the
 * node.
 */
interface Leaf {
  readonly keys: string[];
  readonly nodes?: undefined;
  size: number;
}
interface Branch {
  readonly nodes: Node[];
  readonly keys?: undefined;
  size: number;
}
type Node = Leaf | Branch;

const leaf = (keys: string[]): Leaf => ({ keys, size: keys.length });
const branch = (nodes: Node[]): Branch => ({ nodes, size: nodes.reduce((sum, { size }) => sum + size, 0) });
const widthOf = (node: Node): number => (node.keys ?? node.nodes).length;
const firstOf = (node: Node): string => {
  let at = node;
  while (at.nodes !== undefined) {
    const [first] = at.nodes;
    if (first === undefined) return '';
    at = first;
  }
  return at.keys[0] ?? '';
};

function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] ?? '') < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the index of the node that contains the key, or that would contain the key. */
function nodeAt(nodes: readonly Node[], key: string): number {
  let low = 1;
  let high = nodes.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const node = nodes[middle];
    if (node !== undefined && firstOf(node) <= key) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function insert(node: Node, key: string): boolean {
  if (node.keys !== undefined) {
    const at = lowerBound(node.keys, key);
    if (node.keys[at] === key) return false;
    node.keys.splice(at, 0, key);
    node.size++;
    return true;
  }
  const at = nodeAt(node.nodes, key);
  const child = node.nodes[at];
  if (child === undefined || !insert(child, key)) return false;
  node.size++;
  if (widthOf(child) > MAX) node.nodes.splice(at + 1, 0, splitOff(child));
  return true;
}

function splitOff(node: Node): Node {
  const half = widthOf(node) >>> 1;
  const rest = node.keys === undefined ? branch(node.nodes.splice(half)) : leaf(node.keys.splice(half));
  node.size -= rest.size;
  return rest;
}

function remove(node: Node, key: string): boolean {
  if (node.keys !== undefined) {
    const at = lowerBound(node.keys, key);
    if (node.keys[at] !== key) return false;
    node.keys.splice(at, 1);
    node.size--;
    return true;
  }
  const at = nodeAt(node.nodes, key);
  const child = node.nodes[at];
  if (child === undefined || !remove(child, key)) return false;
  node.size--;
  if (child.size === 0) node.nodes.splice(at, 1);
  else if (widthOf(child) < MIN) join(node.nodes, at > 0 ? at - 1 : at);
  return true;
}

/** Joins two neighbor nodes if the joined node is not too large. */
function join(nodes: Node[], at: number): void {
  const [left, right] = [nodes[at], nodes[at + 1]];
  if (left === undefined || right === undefined || widthOf(left) + widthOf(right) > MAX) return;
  if (left.keys !== undefined && right.keys !== undefined) left.keys.push(...right.keys);
  else if (left.nodes !== undefined && right.nodes !== undefined) left.nodes.push(...right.nodes);
  left.size += right.size;
  nodes.splice(at + 1, 1);
}

function* leavesFrom(node: Node, key: string): Generator<readonly string[]> {
  if (node.keys !== undefined) {
    yield node.keys;
    return;
  }
  for (let at = nodeAt(node.nodes, key); at < node.nodes.length; at++) {
    const child = node.nodes[at];
    if (child !== undefined) yield* leavesFrom(child, key);
  }
}

/** A range of keys, from `from` to the key before `to`. Without `to`, the range has no end. */
export interface KeyRange {
  readonly from: string;
  readonly to: string | undefined;
}

/**
 * A sorted set of keys. Each node of the tree knows the number of its keys, so every operation has a logarithmic cost.
 */
export class OrderedKeys {
  #root: Node = leaf([]);

  get size(): number {
    return this.#root.size;
  }

  add(key: string): void {
    insert(this.#root, key);
    if (widthOf(this.#root) > MAX) {
      const rest = splitOff(this.#root);
      this.#root = branch([this.#root, rest]);
    }
  }

  delete(key: string): void {
    remove(this.#root, key);
    while (this.#root.nodes !== undefined && this.#root.nodes.length <= 1) this.#root = this.#root.nodes[0] ?? leaf([]);
  }

  rank(key: string): number {
    let rank = 0;
    let node = this.#root;
    while (node.nodes !== undefined) {
      const at = nodeAt(node.nodes, key);
      for (let before = 0; before < at; before++) rank += node.nodes[before]?.size ?? 0;
      const next = node.nodes[at];
      if (next === undefined) return rank;
      node = next;
    }
    return rank + lowerBound(node.keys, key);
  }

  at(rank: number): string | undefined {
    let left = rank;
    let node = this.#root;
    while (node.nodes !== undefined) {
      let next: Node | undefined;
      for (const child of node.nodes) {
        next = child;
        if (left < child.size) break;
        left -= child.size;
      }
      if (next === undefined || left >= next.size) return undefined;
      node = next;
    }
    return node.keys[left];
  }

  count({ from, to }: KeyRange): number {
    return (to === undefined ? this.size : this.rank(to)) - this.rank(from);
  }

  /** Yields the keys of a range. While the iteration runs, the set must not change. */
  *range(from: string, to: string | undefined): Generator<string> {
    let start = true;
    for (const keys of leavesFrom(this.#root, from)) {
      for (let at = start ? lowerBound(keys, from) : 0; at < keys.length; at++) {
        const key = keys[at] ?? '';
        if (to !== undefined && key >= to) return;
        yield key;
      }
      start = false;
    }
  }
}
