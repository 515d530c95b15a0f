import { computed, signal } from '@preact/signals';
import { LEVELS, type Level, type MachineRow } from '../src/wire.ts';

export const GROUPS = {
  deployment: 'Deployment',
  zone: 'Zone',
  cls: 'Class',
  set: 'Set',
  ns: 'Namespace',
  level: 'State',
} as const;
export type Group = keyof typeof GROUPS;

export const SORTS = { name: 'Name', level: 'State', created: 'Age' } as const;
export type Sort = keyof typeof SORTS;

export const query = signal('');
/** The levels that the user has selected. If `levels` is empty, all levels are selected. */
export const levels = signal<ReadonlySet<Level>>(new Set());
/** The namespace that the user has selected. If `namespace` is empty, all namespaces are selected. */
export const namespace = signal('');
export const group = signal<Group>('deployment');
export const sort = signal<Sort>('name');

const words = computed(() => query.value.toLowerCase().split(/\s+/).filter(Boolean));

/** Returns true if a machine matches the filters. Each word of the search must be part of a field of the machine. */
export function matches(row: MachineRow): boolean {
  if (namespace.value !== '' && row.ns !== namespace.value) return false;
  if (levels.value.size > 0 && !levels.value.has(row.level)) return false;
  if (words.value.length === 0) return true;
  const { name, phase, node, cls, zone, deployment, level, why } = row;
  const text = `${name} ${phase} ${node} ${cls} ${zone} ${deployment} ${level} ${why}`.toLowerCase();
  return words.value.every((word) => text.includes(word));
}

/** Returns true if a change of a machine may change the groups, their order, or the visible tiles. */
export function isRegrouped(before: MachineRow, row: MachineRow): boolean {
  if (before.deployment !== row.deployment || before.zone !== row.zone || before.cls !== row.cls) return true;
  if (before.set !== row.set || (words.peek().length > 0 && matches(before) !== matches(row))) return true;
  if (before.level === row.level) return false;
  return levels.peek().size > 0 || sort.peek() === 'level' || group.peek() === 'level';
}

const rank = new Map(LEVELS.map((level, index) => [level, index]));

/** Compares two machines in the order that the user has selected. */
export function compare(a: MachineRow, b: MachineRow): number {
  const byLevel = sort.value === 'level' ? (rank.get(a.level) ?? 0) - (rank.get(b.level) ?? 0) : 0;
  const byAge = sort.value === 'created' ? a.created - b.created : 0;
  return byLevel || byAge || (a.name < b.name ? -1 : 1);
}

/** Reads the filters from the address of the page. */
export function readFilters(search: URLSearchParams): void {
  const known = <T extends string>(value: string | null, all: readonly string[], fallback: T): T =>
    value !== null && all.includes(value) ? (value as T) : fallback;
  query.value = search.get('q') ?? '';
  namespace.value = search.get('ns') ?? '';
  group.value = known(search.get('group'), Object.keys(GROUPS), 'deployment');
  sort.value = known(search.get('sort'), Object.keys(SORTS), 'name');
  const asked = (search.get('state') ?? '').split(',');
  levels.value = new Set(LEVELS.filter((level) => asked.includes(level)));
}

/** Returns the filters as a part of the address. */
export function filterSearch(): string {
  const search = new URLSearchParams();
  if (query.value !== '') search.set('q', query.value);
  if (namespace.value !== '') search.set('ns', namespace.value);
  if (levels.value.size > 0) search.set('state', [...levels.value].join(','));
  if (group.value !== 'deployment') search.set('group', group.value);
  if (sort.value !== 'name') search.set('sort', sort.value);
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}
