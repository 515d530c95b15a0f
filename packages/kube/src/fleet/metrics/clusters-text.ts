export interface ClusterText {
  readonly cluster: string;
  readonly text: string;
}

interface Family {
  readonly head: string[];
  readonly lines: string[];
  readonly sums: Map<string, number>;
}

const HEAD = /^# (?:HELP|TYPE) (?<name>\S+)/;
const SERIES = /^(?<name>[^{\s]+)(?:\{(?<labels>.*)\})? (?<value>\S+)$/;
const PART = /_(bucket|sum|count)$/;

/** An existing label `cluster` of a metric becomes `exported_cluster`, as in Prometheus. */
function labeled(name: string, labels: string, cluster: string): string {
  const own = labels.replace(/(^|,)cluster="/, '$1exported_cluster="');
  return `${name}{cluster=${JSON.stringify(cluster)}${own === '' ? '' : `,${own}`}}`;
}

function familyOf(families: Map<string, Family>, name: string): Family {
  const base = name.replace(PART, '');
  const key = families.has(name) ? name : families.has(base) ? base : name;
  const known = families.get(key) ?? { head: [], lines: [], sums: new Map() };
  families.set(key, known);
  return known;
}

/** Parses metrics. */
function read(text: string, cluster: string | undefined, families: Map<string, Family>): void {
  for (const line of text.split('\n')) {
    const headed = HEAD.exec(line)?.groups?.name;
    if (headed !== undefined) {
      const { head } = familyOf(families, headed);
      if (head.length < 2 && !head.includes(line)) head.push(line);
      continue;
    }
    const { name, labels = '', value } = SERIES.exec(line)?.groups ?? {};
    if (name === undefined) continue;
    const family = familyOf(families, name);
    if (cluster === undefined) {
      family.lines.push(line);
      continue;
    }
    const series = labeled(name, labels, cluster);
    family.sums.set(series, (family.sums.get(series) ?? 0) + Number(value));
  }
}

const shown = (value: number): string =>
  value === Number.POSITIVE_INFINITY ? '+Inf' : value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);

export function clustersText(process: string, clusters: readonly ClusterText[]): string {
  const families = new Map<string, Family>();
  read(process, undefined, families);
  for (const { cluster, text } of clusters) read(text, cluster, families);
  return [...families.values()]
    .map(({ head, lines, sums }) =>
      [...head, ...lines, ...[...sums].map(([series, value]) => `${series} ${shown(value)}`), ''].join('\n'),
    )
    .join('\n');
}

/** The values of the label `cluster`: a limited number of names, and `other` for all remaining clusters. */
export class ClusterLabels {
  readonly #most: number;
  readonly #named = new Set<string>();

  constructor(most: number) {
    this.#most = most;
  }

  of(cluster: string): string {
    if (this.#named.has(cluster)) return cluster;
    if (this.#named.size >= this.#most) return 'other';
    this.#named.add(cluster);
    return cluster;
  }

  forget(cluster: string): void {
    this.#named.delete(cluster);
  }
}
