import type { BudgetRecord, Canary, Claim } from './record.ts';

export interface LocalCluster {
  readonly name: string;
  readonly id: string;
  readonly canary: boolean;
  readonly known: boolean;
  readonly wants: boolean;
  readonly wantsSince: number;
  readonly settled: boolean;
  readonly rollout: 'none' | 'rolling' | 'failed' | 'undoing';
}

export type Hold = 'asked' | 'budget' | 'canaries' | 'soak';

export interface BudgetInput {
  readonly record: BudgetRecord;
  readonly locals: readonly LocalCluster[];
  readonly limit: number;
  readonly exists: (cluster: string) => boolean;
  readonly lapsed: (cluster: string) => boolean;
  readonly isCanary: (cluster: string) => boolean;
  readonly anyCanary: boolean;
  readonly soakMs: number;
  readonly quietSince: number | undefined;
  readonly nowMs: number;
  readonly at: string;
}

export interface BudgetDecision {
  readonly record: BudgetRecord;
  readonly holds: ReadonlyMap<string, Hold>;
  readonly released: readonly string[];
  readonly lookAgainMs: number | undefined;
}

export const isQuiet = ({ canaries }: BudgetRecord, isCanary: (cluster: string) => boolean): boolean =>
  [...canaries].every(([cluster, { state }]) => state === 'done' || !isCanary(cluster));

function nextCanary({ rollout, known }: LocalCluster, old: Canary | undefined, at: string): Canary | undefined {
  const before = old?.state;
  const become = (state: Canary['state']): Canary => (old?.state === state ? old : { state, since: at });
  if (rollout === 'failed' || rollout === 'undoing') return become(rollout);
  if (rollout === 'rolling') return before === 'undoing' ? old : become('rolling');
  if (!known) return old;
  if (before === 'undoing') return become('undone');
  return before === 'rolling' || before === 'failed' ? become('done') : old;
}

function keptClaims({ record, locals, exists, lapsed }: BudgetInput): {
  readonly claims: Map<string, Claim>;
  readonly released: readonly string[];
} {
  const own = new Map(locals.map((local) => [local.name, local]));
  const released: string[] = [];
  const claims = new Map<string, Claim>();
  for (const [name, claim] of record.claims) {
    const local = own.get(name);
    if (local === undefined) {
      if (exists(name) && !lapsed(name)) claims.set(name, claim);
    } else if (local.wants || !local.settled)
      claims.set(name, claim.id === local.id ? claim : { ...claim, id: local.id });
    else if (!local.known) claims.set(name, claim);
    else released.push(name);
  }
  return { claims, released };
}

/** Decides which clusters get a claim on the rollout budget. */
export function decideBudget(input: BudgetInput): BudgetDecision {
  const { record, locals, limit, exists, isCanary, anyCanary, soakMs, quietSince, nowMs, at } = input;
  const { claims, released } = keptClaims(input);
  const canaries = new Map([...record.canaries].filter(([name]) => exists(name) && isCanary(name)));
  for (const local of locals.filter(({ canary }) => canary)) {
    const next = nextCanary(local, canaries.get(local.name), at);
    if (next !== undefined) canaries.set(local.name, next);
  }
  const holds = new Map<string, Hold>();
  const ends: number[] = [];
  const waiting = locals
    .filter(({ name, wants }) => wants && !claims.has(name))
    .sort((a, b) => Number(b.canary) - Number(a.canary) || a.wantsSince - b.wantsSince || (a.name < b.name ? -1 : 1));
  const quiet = isQuiet({ claims, canaries }, isCanary);
  for (const { name, id, canary, wantsSince } of waiting) {
    const soakedAt = Math.max(quietSince ?? nowMs, wantsSince) + soakMs;
    if (!canary && anyCanary && !quiet) holds.set(name, 'canaries');
    else if (!canary && anyCanary && soakedAt > nowMs) {
      holds.set(name, 'soak');
      ends.push(soakedAt);
    } else if (claims.size >= limit) holds.set(name, 'budget');
    else claims.set(name, { id, since: at });
  }
  return {
    record: { claims, canaries },
    holds,
    released,
    lookAgainMs: ends.length > 0 ? Math.min(...ends) : undefined,
  };
}
