import { items, look, type Plain, text } from '../../apimachinery/objects/plain.ts';

const GONE: readonly (readonly [string, string, string])[] = [
  ['photonPersistentDisk', 'photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['gitRepo', 'gitRepo', 'deprecated in v1.11, and disabled by default in v1.33+'],
  ['scaleIO', 'scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', 'flocker', 'deprecated in v1.22, non-functional in v1.25+'],
  ['storageos', 'storageOS', 'deprecated in v1.22, non-functional in v1.25+'],
  ['quobyte', 'quobyte', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['cephfs', 'cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['rbd', 'rbd', 'deprecated in v1.28, non-functional in v1.31+'],
];

export const sourceWarnings = (source: Plain, at: string): string[] =>
  GONE.flatMap(([field, shown, why]) => (source[field] === undefined ? [] : [`${at}.${shown}: ${why}`]));

interface Placed {
  readonly path: string;
  readonly by: string;
}

const contains = (path: string, other: string): boolean => path === other || other.startsWith(`${path}/`);

const SILENT: ReadonlySet<string> = new Set(['flocker', 'quobyte']);

export const persistentSourceWarnings = (spec: Plain, at: string): string[] =>
  sourceWarnings(Object.fromEntries(Object.entries(spec).filter(([field]) => !SILENT.has(field))), at);

function overlaps(placed: readonly Placed[], name: (file: Placed) => string): string[] {
  return placed.flatMap((file, index) =>
    placed
      .slice(0, index)
      .filter((earlier) => contains(earlier.path, file.path) || contains(file.path, earlier.path))
      .map((earlier) => `overlapping paths: ${name(file)} with ${name(earlier)}`),
  );
}

const pathsOf = (source: unknown, by: string): Placed[] =>
  items(source, 'items').map((item) => ({ path: text(item, 'path'), by }));

function projectedPaths(source: Plain): Placed[] {
  if (source.secret !== undefined) {
    const secret = look(source, 'secret');
    return pathsOf(secret, `Secret "${text(secret, 'name')}"`);
  }
  if (source.configMap !== undefined) {
    const map = look(source, 'configMap');
    return pathsOf(map, `ConfigMap "${text(map, 'name')}"`);
  }
  if (source.downwardAPI !== undefined) return pathsOf(look(source, 'downwardAPI'), 'DownwardAPI');
  if (source.serviceAccountToken === undefined) return [];
  return [{ path: text(look(source, 'serviceAccountToken'), 'path'), by: 'ServiceAccountToken' }];
}

export function overlapWarnings(volume: Plain): string[] {
  const plain = ({ path }: Placed): string => JSON.stringify(path);
  const reported = (what: string, found: readonly string[]): string[] =>
    found.map((text_) => `volume ${JSON.stringify(text(volume, 'name'))} (${what}): ${text_}`);
  const [secret, map] = [look(volume, 'secret'), look(volume, 'configMap')];
  return [
    ...reported(`Secret ${JSON.stringify(text(secret, 'secretName'))}`, overlaps(pathsOf(secret, ''), plain)),
    ...reported(`ConfigMap ${JSON.stringify(text(map, 'name'))}`, overlaps(pathsOf(map, ''), plain)),
    ...items(look(volume, 'projected'), 'sources').flatMap((source) =>
      Object.keys(source).length === 0
        ? [`volume ${JSON.stringify(text(volume, 'name'))} (Projected) has no sources provided`]
        : [],
    ),
    ...reported('DownwardAPI', overlaps(pathsOf(look(volume, 'downwardAPI'), ''), plain)),
    ...reported(
      'Projected',
      overlaps(
        items(look(volume, 'projected'), 'sources').flatMap(projectedPaths),
        (file) => `${plain(file)} (${file.by})`,
      ),
    ),
  ];
}
