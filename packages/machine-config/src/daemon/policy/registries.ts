interface Endpoint {
  readonly fields: Record<string, unknown>;
  readonly mirrors: Endpoint[];
}

interface Registries {
  readonly search: readonly string[];
  readonly registries: readonly Endpoint[];
}

/**
 * Returns true if a change of registries.conf affects no running pod, such as an additional registry with pulls by
 * digest. Source: pkg/daemon/drain.go.
 */
export function isSafeRegistriesChange(before: string, after: string): boolean {
  const [old, next] = [readRegistries(before), readRegistries(after)];
  if (!old || !next) return false;
  if (old.search.some((one, index) => next.search[index] !== one)) return false;
  return onlyDigestsAdded(old.registries, next.registries, false);
}

const idOf = ({ fields }: Endpoint): string => String(fields.prefix ?? fields.location ?? '');

function onlyDigestsAdded(old: readonly Endpoint[], next: readonly Endpoint[], byDigest: boolean): boolean {
  const left = new Map(old.map((one) => [idOf(one), one]));
  for (const endpoint of next) {
    const digests = byDigest || endpoint.fields['mirror-by-digest-only'] === true;
    const known = left.get(idOf(endpoint));
    left.delete(idOf(endpoint));
    if (!known) {
      if (!isByDigest(endpoint, byDigest)) return false;
      continue;
    }
    if (!sameFields(known.fields, endpoint.fields)) return false;
    if (!onlyDigestsAdded(known.mirrors, endpoint.mirrors, digests)) return false;
  }
  return left.size === 0;
}

/** Returns true if images of a registry or a mirror are pulled only by digest. */
function isByDigest({ fields, mirrors }: Endpoint, inherited: boolean): boolean {
  if (inherited || fields['mirror-by-digest-only'] === true || fields['pull-from-mirror'] === 'digest-only')
    return true;
  return mirrors.length > 0 && mirrors.every((mirror) => isByDigest(mirror, false));
}

const sameFields = (a: Record<string, unknown>, b: Record<string, unknown>): boolean =>
  JSON.stringify(Object.entries(a).toSorted()) === JSON.stringify(Object.entries(b).toSorted());

/** Parses the subset of TOML that registries.conf uses. */
function readRegistries(text: string): Registries | undefined {
  const registries: Endpoint[] = [];
  let at: Record<string, unknown> = {};
  const top = at;
  for (const line of logicalLines(text)) {
    const table = /^\[\[(registry(?:\.mirror)?)\]\]$/.exec(line)?.[1];
    if (table !== undefined) {
      const list = table === 'registry' ? registries : registries.at(-1)?.mirrors;
      if (!list) return undefined;
      const endpoint: Endpoint = { fields: {}, mirrors: [] };
      list.push(endpoint);
      at = endpoint.fields;
      continue;
    }
    if (/^\[[\w."-]+\]$/.test(line)) {
      at = {};
      top[line] = at;
      continue;
    }
    const [, key, value] = /^([\w-]+)\s*=\s*(.*)$/.exec(line) ?? [];
    const read = value === undefined ? undefined : readValue(value);
    if (key === undefined || read === undefined) return undefined;
    at[key] = read;
  }
  const search = top['unqualified-search-registries'] ?? [];
  return Array.isArray(search) ? { search: search.map(String), registries } : undefined;
}

function logicalLines(text: string): readonly string[] {
  const lines: string[] = [];
  let open = '';
  for (const raw of text.split('\n')) {
    const line = raw.replace(/^((?:[^"'#]|"[^"]*"|'[^']*')*)#.*$/, '$1').trim();
    if (line === '') continue;
    const whole = `${open}${line}`;
    const isOpen = /=\s*\[/.test(whole) && !/\]$/.test(whole);
    if (isOpen) open = whole;
    else {
      lines.push(whole);
      open = '';
    }
  }
  return open === '' ? lines : [...lines, open];
}

function readValue(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true';
  if (/^-?\d+$/.test(text)) return Number(text);
  const quoted = /^"([^"\\]*)"$|^'([^']*)'$/.exec(text);
  if (quoted) return quoted[1] ?? quoted[2] ?? '';
  if (!/^\[.*\]$/.test(text)) return undefined;
  const parts = text
    .slice(1, -1)
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  const values = parts.map(readValue);
  return values.includes(undefined) ? undefined : values;
}
