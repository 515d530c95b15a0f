import { parseDuration } from '../../flags/duration.ts';

export interface BudgetPolicy {
  /** The maximum number of clusters that roll out at the same time, as a number or as a percentage of all clusters. */
  readonly maxClusters: string;
  readonly canaries: readonly (readonly [name: string, value: string])[];
  /** The soak time of the canary clusters, before other clusters may start rollouts. */
  readonly soakMs: number;
}

const DEFAULTS = { maxClusters: '2%', canaries: '', soak: '30m' } as const;

type Problem = string;

const COUNT = /^\d{1,6}%?$/;
const LABEL = /^[^=,\s]+=[^=,\s]*$/;

export function policyOf(data: Readonly<Record<string, string>> = {}): BudgetPolicy | Problem {
  const unknown = Object.keys(data).find((key) => !Object.hasOwn(DEFAULTS, key));
  if (unknown !== undefined) return `data.${unknown} is not a key of a rollout budget; use maxClusters, canaries, soak`;
  const { maxClusters, canaries, soak } = { ...DEFAULTS, ...data };
  if (!COUNT.test(maxClusters) || (maxClusters.endsWith('%') && Number.parseInt(maxClusters, 10) > 100))
    return 'data.maxClusters must be a number such as 3 or a percentage such as 2%';
  const labels = canaries.split(',').flatMap((label) => label.trim() || []);
  if (!labels.every((label) => LABEL.test(label))) return 'data.canaries must be labels such as mcm-canary=true';
  const soakMs = parseDuration(soak);
  if (soakMs === undefined || soakMs < 0) return 'data.soak must be a duration such as 30m';
  const pairs = labels.map((label): readonly [string, string] => {
    const [name = '', value = ''] = label.split('=');
    return [name, value];
  });
  return { maxClusters, canaries: pairs, soakMs };
}

/** Returns the maximum number of clusters. */
export function limitOf({ maxClusters }: Pick<BudgetPolicy, 'maxClusters'>, clusters: number): number {
  const count = Number.parseInt(maxClusters, 10);
  if (!maxClusters.endsWith('%')) return count;
  return count === 0 ? 0 : Math.max(Math.floor((clusters * count) / 100), 1);
}

export const isCanary = (
  { canaries }: Pick<BudgetPolicy, 'canaries'>,
  labels: Readonly<Record<string, string>> = {},
): boolean => canaries.length > 0 && canaries.every(([name, value]) => labels[name] === value);
