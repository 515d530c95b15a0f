import { compareText } from '../../values/integers.ts';
import { listed } from '../../values/texts.ts';
import type { RepairPlan } from '../repairs.ts';
import type { OpenBreaker } from '../unreachable.ts';

/** The reasons why a machine is not available. */
export const CAUSES = ['failed', 'unreachable', 'creating', 'updating', 'terminating'] as const;
export type Cause = (typeof CAUSES)[number];

/** The disruptions of one scope: the cluster, a zone, a class or a deployment. */
export interface DisruptionRow {
  /** Number of machines, including machines that are being deleted. */
  readonly machines: number;
  readonly available: number;
  readonly causes: Readonly<Partial<Record<Cause, number>>>;
  /** Maximum number of machines that mcm may replace or roll out at the same time. Zones have no budget. */
  readonly allowed?: number | undefined;
  readonly inUse?: number | undefined;
  /** Number of failed machines that wait for the budget. */
  readonly waiting?: number | undefined;
  /** The state of the circuit breaker. Classes have no circuit breaker. */
  readonly breaker?: 'Closed' | 'Open' | undefined;
  /** The reason why the circuit breaker is open, or the number of unreachable machines that opens it. */
  readonly reason?: string | undefined;
  /** Names of nodes and states of VMs, which prove that machines are unreachable. */
  readonly evidence?: string | undefined;
}

/** The budgets of a deployment, from its last decision. */
export type DeploymentBudget = Pick<RepairPlan, 'budget' | 'allowance' | 'waiting' | 'held'>;

export const openText = ({ unreachable, joined, counted: objects = 'machines', scope }: OpenBreaker): string =>
  `${unreachable} of ${joined} ${objects} of the ${scope} became unreachable at the same time`;

/**
 * Returns two numbers about the disruption budget of a deployment: the allowed disruptions and the current disruptions.
 */
function usage({ budget, allowance }: DeploymentBudget): { readonly allowed: number; readonly inUse: number } {
  const allowed = budget.rolling ? Math.max(budget.unavailable, 1) : allowance;
  return { allowed, inUse: Math.max(budget.underWay, budget.repairing) };
}

/** Returns the row of a deployment, or undefined if the deployment has no disruption. */
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

/** Returns the sums of the budgets of several deployments. */
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

/** Returns the evidence of unreachable machines, or undefined if no machine is unreachable. */
export function evidenceText(nodes: readonly string[], vms: string | undefined): string | undefined {
  if (nodes.length === 0) return undefined;
  const names = listed(nodes.toSorted(compareText), MOST_NODES);
  return `unreachable nodes: ${names}${vms === undefined ? '' : `. ${vms}`}`;
}

/** Returns the row as lines `name: value`. `since` is the time at which the circuit breaker opened. */
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

/** Returns the time at which the circuit breaker opened, from a stored row. */
export function openSince(text: string | undefined): string | undefined {
  if (!text?.includes('breaker: Open\n')) return undefined;
  return /^since: (.*)$/m.exec(text)?.[1];
}

/** The keys of a ConfigMap may not contain other characters. */
const KEY = /^[-._a-zA-Z0-9]{1,253}$/;

export const isKey = (text: string): boolean => KEY.test(text);
