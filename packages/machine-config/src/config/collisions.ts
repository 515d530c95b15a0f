import type { IgnitionConfig } from '../ignition/index.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import { RenderError } from './error.ts';
import { ignitionOf } from './parsed.ts';

type Kind = 'file' | 'directory' | 'link' | 'unit';

const UNITS = '/etc/systemd/system';
const LISTS = [
  ['file', 'files'],
  ['directory', 'directories'],
  ['link', 'links'],
] as const;

function forEachPlace({ storage = {}, systemd }: IgnitionConfig, visit: (path: string, kind: Kind) => void): void {
  for (const [kind, list] of LISTS) for (const { path } of storage[list] ?? []) visit(path, kind);
  for (const { name, contents, dropins = [], mask } of systemd?.units ?? []) {
    if (contents || mask) visit(`${UNITS}/${name}`, 'unit');
    for (const dropin of dropins) if (dropin.contents) visit(`${UNITS}/${name}.d/${dropin.name}`, 'unit');
  }
}

/**
 * Finds two entries that cannot both exist on a disk:
 * - a path is below a file, a link or a unit;
 * - a file has the path of a unit.
 *
 * @throws RenderError naming both paths, their MachineConfigs, and the fix
 */
export function checkCollisions(merged: IgnitionConfig, sources: readonly MachineConfig[]): void {
  const places = new Map<string, Kind>();
  forEachPlace(merged, (path, kind) => {
    const other = places.get(path);
    if (other !== undefined && other !== kind) collide(sources, [path, kind], 'where', [path, other]);
    places.set(path, kind);
  });
  const looked = new Set<string>();
  let free = '';
  for (const [path, kind] of places) {
    // If the previous path is in the same directory, its check has already covered the parents.
    if (free !== '' && path.startsWith(free) && path.lastIndexOf('/') === free.length - 1) continue;
    free = path.slice(0, path.lastIndexOf('/') + 1);
    const inTheWay = occupiedParent(path, places, looked);
    if (inTheWay !== undefined) collide(sources, [path, kind], 'below', [inTheWay, places.get(inTheWay) ?? 'file']);
  }
}

/** Returns the parent of a path that is not a directory, or undefined if all parents are free. */
function occupiedParent(path: string, places: ReadonlyMap<string, Kind>, looked: Set<string>): string | undefined {
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
    const parent = path.slice(0, at);
    if (looked.has(parent)) return undefined;
    const kind = places.get(parent);
    if (kind !== undefined && kind !== 'directory') return parent;
    looked.add(parent);
  }
  return undefined;
}

type Place = readonly [path: string, kind: Kind];

function collide(sources: readonly MachineConfig[], one: Place, how: 'where' | 'below', other: Place): never {
  const name = ([path, kind]: Place) => {
    const owner = ownerOf(sources, path, kind);
    return `${kind} ${path}${owner === undefined ? '' : ` of MachineConfig ${owner}`}`;
  };
  throw new RenderError(`${name(one)} ${how === 'where' ? 'has the same path as' : 'is below'} ${name(other)}`, {
    hint: `change one of the paths in spec.config of ${ownersOf(sources, [one, other])}`,
  });
}

const ownerOf = (sources: readonly MachineConfig[], path: string, kind: Kind): string | undefined =>
  sources.findLast((source) => {
    const config = ignitionOf(source);
    if (!config) return false;
    let found = false;
    forEachPlace(config, (at, what) => {
      found ||= at === path && what === kind;
    });
    return found;
  })?.metadata.name;

function ownersOf(sources: readonly MachineConfig[], places: readonly Place[]): string {
  const names = new Set(places.flatMap(([path, kind]) => ownerOf(sources, path, kind) ?? []));
  return names.size === 0 ? 'its MachineConfig' : [...names].map((name) => `MachineConfig ${name}`).join(' or ');
}
