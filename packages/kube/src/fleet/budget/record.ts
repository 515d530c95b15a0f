import { isRecord } from '../../contract/json-values.ts';

export interface Claim {
  /** The identity of the controller run that may use the claim. */
  readonly id: string;
  readonly since: string;
}

type CanaryState = 'rolling' | 'failed' | 'undoing' | 'undone' | 'done';

export interface Canary {
  readonly state: CanaryState;
  readonly since: string;
}

/** The state of the rollout budget, which all replicas of a fleet write into one ConfigMap. */
export interface BudgetRecord {
  readonly claims: ReadonlyMap<string, Claim>;
  readonly canaries: ReadonlyMap<string, Canary>;
}

const STATES: ReadonlySet<unknown> = new Set<CanaryState>(['rolling', 'failed', 'undoing', 'undone', 'done']);

const isClaim = (value: unknown): value is Claim =>
  isRecord(value) && typeof value.id === 'string' && typeof value.since === 'string';

const isCanaryRecord = (value: unknown): value is Canary =>
  isRecord(value) && STATES.has(value.state) && typeof value.since === 'string';

const EMPTY: BudgetRecord = { claims: new Map(), canaries: new Map() };

function entriesOf<T>(value: unknown, isValid: (entry: unknown) => entry is T): ReadonlyMap<string, T> | undefined {
  if (!isRecord(value)) return undefined;
  const entries = Object.entries(value);
  return entries.every((entry): entry is [string, T] => isValid(entry[1])) ? new Map(entries) : undefined;
}

/** Parses the state of the rollout budget, or returns undefined for an invalid text. */
export function readRecord(text: string | undefined): BudgetRecord | undefined {
  if (text === undefined) return EMPTY;
  try {
    const value: unknown = JSON.parse(text);
    const claims = isRecord(value) ? entriesOf(value.claims, isClaim) : undefined;
    const canaries = isRecord(value) ? entriesOf(value.canaries, isCanaryRecord) : undefined;
    return claims && canaries && { claims, canaries };
  } catch {
    return undefined; // A user may have changed the annotation, so the caller reports the invalid text.
  }
}

const sorted = <T>(entries: ReadonlyMap<string, T>): Readonly<Record<string, T>> =>
  Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));

/** Formats the state of the rollout budget. */
export const recordText = ({ claims, canaries }: BudgetRecord): string =>
  JSON.stringify({ claims: sorted(claims), canaries: sorted(canaries) });
