import { compareText } from '../../values/integers.ts';
import { listed } from '../../values/texts.ts';
import type { RepairPlan } from '../repairs.ts';
import type { OpenBreaker } from '../unreachable.ts';

export const CAUSES = ['failed', 'unreachable', 'creating', 'updating', 'terminating'] as const;
export type Cause = (typeof CAUSES)[number];

/** The disruptions of one scope: the cluster, a zone, a class or a deployment. */
export interface DisruptionRow {
  readonly machines: number;
  readonly available: number;
  readonly causes: Readonly<Partial<Record<Cause, number>>>;
  /** Zones have no budget. */
  readonly allowed?: number | undefined;
  readonly inUse?: number | undefined;
  readonly waiting?: number | undefined;
  readonly breaker?: 'Closed' | 'Open' | undefined;
  readonly reason?: string | undefined;
  readonly evidence?: string | undefined;
}

export type DeploymentBudget = Pick<RepairPlan, 'budget' | 'allowance' | 'waiting' | 'held'>;

export const openText = ({ unreachable, joined, counted: objects = 'machines', scope }: OpenBreaker): string =>
  `${unreachable} of ${joined} ${objects} of the ${scope} became unreachable at the same time`;

function usage({ budget, allowance }: DeploymentBudget): { readonly allowed: number; readonly inUse: number } {
  const allowed = budget.rolling ? Math.max(budget.unavailable, 1) : allowance;
  return { allowed, inUse: Math.max(budget.underWay, budget.repairing) };
}

export function deploymentRow(decided: DeploymentBudget): DisruptionRow | undefined {
  const { budget, waiting, held } = decided;
  const { replicas, available, missing, leaving, failed, unreachable, joining, late, updating } = budget;
  if (missing + leaving + joining + waiting.length + held.length === 0) return undefined;
  const [first] = held;
  return {
    machines: replicas,
    available,
    causes: { failed, unreachable, creating: joining + late, updating, terminating: leaving },
    ...usage(decided),
    waiting: waiting.length,
    breaker: first ? 'Open' : 'Closed',
    reason: first && openText(first.breaker),
  };
}

export function sumOf(decisions: Iterable<DeploymentBudget>): Pick<DisruptionRow, 'allowed' | 'inUse' | 'waiting'> {
  const sum = { allowed: 0, inUse: 0, waiting: 0 };
  for (const decided of decisions) {
    const { allowed, inUse } = usage(decided);
    sum.allowed += allowed;
    sum.inUse += inUse;
    sum.waiting += decided.waiting.length;
  }
  return sum;
}

const MOST_NODES = 10;

export function evidenceText(nodes: readonly string[], vms: string | undefined): string | undefined {
  if (nodes.length === 0) return undefined;
  const names = listed(nodes.toSorted(compareText), MOST_NODES);
  return `unreachable nodes: ${names}${vms === undefined ? '' : `. ${vms}`}`;
}

export function rowText(row: DisruptionRow, since: string | undefined): string {
  const causes = CAUSES.flatMap((cause) => (row.causes[cause] ? [`${row.causes[cause]} ${cause}`] : []));
  const fields: readonly (readonly [string, string | number | undefined])[] = [
    ['machines', row.machines],
    ['available', row.available],
    ['unavailable', causes.length > 0 ? causes.join(', ') : undefined],
    ['allowed', row.allowed],
    ['inUse', row.inUse],
    ['waiting', row.waiting],
    ['breaker', row.breaker],
    ['since', row.breaker === 'Open' ? since : undefined],
    ['reason', row.reason],
    ['evidence', row.evidence],
  ];
  return fields.flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}\n`])).join('');
}

export function openSince(text: string | undefined): string | undefined {
  if (!text?.includes('breaker: Open\n')) return undefined;
  return /^since: (.*)$/m.exec(text)?.[1];
}

/** Matches the valid keys of a ConfigMap. */
const KEY = /^[-._a-zA-Z0-9]{1,253}$/;

export const isKey = (text: string): boolean => KEY.test(text);
