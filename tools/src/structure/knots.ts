import { dirname } from 'node:path';

/**
 * Returns the groups of nodes that can reach each other, largest first. The groups are Tarjan's strongly connected
 * components with more than one node.
 */
export function knots(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const path: string[] = [];
  const onPath = new Set<string>();
  const found: string[][] = [];
  for (const root of graph.keys()) {
    if (index.has(root)) continue;
    const work: { node: string; targets: Iterator<string> }[] = [enter(root)];
    for (let frame = work.at(-1); frame !== undefined; frame = work.at(-1)) {
      const { node, targets } = frame;
      const { done, value: target } = targets.next();
      if (done !== true) {
        if (!index.has(target)) work.push(enter(target));
        else if (onPath.has(target)) lower(node, index.get(target));
        continue;
      }
      work.pop();
      const parent = work.at(-1);
      if (parent !== undefined) lower(parent.node, low.get(node));
      if (low.get(node) === index.get(node)) close(node);
    }
  }
  return found.sort((a, b) => b.length - a.length || (a[0] ?? '').localeCompare(b[0] ?? ''));

  function enter(node: string) {
    index.set(node, index.size);
    low.set(node, index.size - 1);
    path.push(node);
    onPath.add(node);
    return { node, targets: (graph.get(node) ?? [])[Symbol.iterator]() };
  }
  function lower(node: string, to: number | undefined) {
    low.set(node, Math.min(low.get(node) ?? Number.POSITIVE_INFINITY, to ?? Number.POSITIVE_INFINITY));
  }
  function close(node: string) {
    const members = path.splice(path.indexOf(node));
    for (const member of members) onPath.delete(member);
    if (members.length > 1) found.push(members.sort());
  }
}

/**
 * `depth` is the number of path segments below the package: with 1, `src/machine` and `src/machine/calls` are one node.
 */
export function folderGraph(graph: ReadonlyMap<string, readonly string[]>, depth: number): Map<string, string[]> {
  const folders = new Map<string, Set<string>>();
  for (const [from, targets] of graph) {
    const own = folderOf(from, depth);
    const imported = folders.get(own) ?? new Set();
    folders.set(own, imported);
    for (const target of targets) if (folderOf(target, depth) !== own) imported.add(folderOf(target, depth));
  }
  return new Map([...folders].map(([folder, imported]) => [folder, [...imported].sort()]));
}

function folderOf(path: string, depth: number): string {
  const [before, below] = dirname(path).split(/(?<=(?:^|\/)src)(?:\/|$)/);
  return [before, ...(below ?? '').split('/').slice(0, depth)].join('/');
}
