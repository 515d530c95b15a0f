import { Labels, type Machine, type MachineDeployment } from '@mcm/api';
import { type Key, keyOf } from '@mcm/kube';
import { compareText } from '../../values/integers.ts';
import type { Safeguards } from '../safeguards.ts';
import { type BreakerLimits, CLUSTER, zoneIn } from '../unreachable.ts';
import { vmStatesText } from '../vm-state.ts';
import {
  CAUSES,
  type DeploymentBudget,
  type DisruptionRow,
  deploymentRow,
  evidenceText,
  isKey,
  openText,
  sumOf,
} from './rows.ts';
import { DisruptionTally, type ScopeCounts } from './tally.ts';

const CLASS = 'class ';

/** A larger ConfigMap could exceed the size limit of the API server, so the number of rows is limited. */
export const MOST_ROWS = 300;

interface Decided extends DeploymentBudget {
  readonly className: string;
}

export interface DisruptionRows {
  readonly rows: ReadonlyMap<string, DisruptionRow>;
  readonly lookAgainAt: Date | undefined;
}

type Breakers = Pick<Safeguards, 'settings' | 'onFiled' | 'openIn' | 'joinedIn' | 'breakerOf'>;

/**
 * Collects the disruptions of all scopes: clusters, zones, classes and deployments. The budgets in the report come from
 * the last decision about each deployment.
 */
export class DisruptionReport {
  readonly #safeguards: Breakers;
  readonly #tally = new DisruptionTally();
  readonly #decided = new Map<Key, Decided>();
  #changed: () => void = () => undefined;

  constructor(safeguards: Breakers) {
    this.#safeguards = safeguards;
    safeguards.onFiled((key, machine, scopes) => {
      const className = machine?.spec.class?.name;
      const all = className ? [...scopes, `${CLASS}${className}`] : scopes;
      if (this.#tally.file(key, machine, all)) this.#changed();
    });
  }

  onChange(changed: () => void): void {
    this.#changed = changed;
  }

  decided(deployment: MachineDeployment, budget: DeploymentBudget): void {
    const className = deployment.spec.template.spec.class.name ?? '';
    this.#decided.set(keyOf(deployment), { ...budget, className });
    this.#changed();
  }

  knows(key: Key): boolean {
    return this.#decided.has(key);
  }

  forget(key: Key): void {
    if (this.#decided.delete(key)) this.#changed();
  }

  rows(now: Date): DisruptionRows {
    const rows = new Map<string, DisruptionRow>();
    const wakes: (Date | undefined)[] = [];
    const sums = Map.groupBy(this.#decided.values(), ({ className }) => className);
    const classes: [string, DisruptionRow][] = [];
    for (const [scope, counts] of this.#tally.scopes) {
      const zone = zoneIn([scope]);
      if (scope.startsWith(CLASS)) {
        const name = scope.slice(CLASS.length);
        const decided = sums.get(name) ?? [];
        if (unavailableOf(counts) > 0)
          classes.push([
            `class.${name}`,
            { ...base(counts), ...sumOf(decided), ...this.#ofClass(counts, decided, now) },
          ]);
        continue;
      }
      const open = this.#safeguards.openIn(scope, now);
      wakes.push(open?.lookAgainAt);
      const breaker = {
        breaker: open ? 'Open' : 'Closed',
        reason: open ? openText(open) : this.#opensAt(scope),
      } as const;
      const budget = scope === CLUSTER ? sumOf(this.#decided.values()) : {};
      rows.set(zone === undefined ? scope : `zone.${zone}`, { ...base(counts), ...budget, ...breaker });
    }
    const deployments = [...this.#decided].flatMap(([key, decided]): [string, DisruptionRow][] => {
      const row = deploymentRow(decided);
      return row ? [[`deployment.${key.slice(key.indexOf('/') + 1)}`, row]] : [];
    });
    for (const group of [classes, deployments]) for (const [key, row] of worst(group)) rows.set(key, row);
    for (const key of rows.keys()) if (!isKey(key)) rows.delete(key);
    const instants = wakes.flatMap((wake) => (wake ? [wake.getTime()] : []));
    return { rows, lookAgainAt: instants.length > 0 ? new Date(Math.min(...instants)) : undefined };
  }

  /**
   * A class has no limits of its own. The breaker of a class is open while another scope prevents the replacement of a
   * machine of the class. An override on the class closes the breaker of the class.
   */
  #ofClass(
    { unreachable }: ScopeCounts,
    decided: readonly Decided[],
    now: Date,
  ): Pick<DisruptionRow, 'breaker' | 'reason'> {
    for (const machine of unreachable.values()) {
      const open = this.#safeguards.breakerOf(machine, now);
      if (open) return { breaker: 'Open', reason: openText(open) };
    }
    const [held] = decided.flatMap((each) => each.held);
    return { breaker: held ? 'Open' : 'Closed', reason: held && openText(held.breaker) };
  }

  #opensAt(scope: string): string | undefined {
    const { breaker } = this.#safeguards.settings;
    if (breaker.thresholdPercent > 100) return 'the circuit breaker is disabled';
    return `opens at ${openingNumber(this.#safeguards.joinedIn(scope), breaker)} unreachable machines`;
  }
}

const openingNumber = (joined: number, { thresholdPercent, minimumCount }: BreakerLimits): number =>
  Math.max(Math.ceil((joined * thresholdPercent) / 100), minimumCount);

const unavailableOf = ({ machines, states }: ScopeCounts): number => machines - (states.get('available') ?? 0);

const nodeOf = ({ metadata }: Machine): string => metadata.labels?.[Labels.Node] ?? metadata.name;

function base(counts: ScopeCounts): Pick<DisruptionRow, 'machines' | 'available' | 'causes' | 'evidence'> {
  const { machines, states, unreachable } = counts;
  const lost = [...unreachable.values()];
  return {
    machines,
    available: states.get('available') ?? 0,
    causes: Object.fromEntries(CAUSES.map((cause) => [cause, states.get(cause) ?? 0])),
    evidence: evidenceText(lost.map(nodeOf), vmStatesText(lost)),
  };
}

function worst(rows: readonly [string, DisruptionRow][]): readonly [string, DisruptionRow][] {
  const missing = ([, { machines, available }]: [string, DisruptionRow]): number => machines - available;
  return rows.toSorted((a, b) => missing(b) - missing(a) || compareText(a[0], b[0])).slice(0, MOST_ROWS);
}
