import { type MachineDeployment, type MachineSet, machineDeployments, machineSets } from '@mcm/api';
import type { Reporter } from '@mcm/conformance/fleet';
import { type KubeClient, LeaseAnnotations, type Transport, type TransportRequest } from '@mcm/kube';
import { answerOf } from '../network/answer.ts';
import type { Writer } from './fences.ts';

export interface SimulatedBudget {
  readonly maxClusters: number;
  readonly soak: string;
}

export const BUDGET = 'rollouts';
const BUDGET_PATH = new RegExp(`/configmaps/${BUDGET}(\\?|$)`);
const SETS = /\/machinesets(\/(?<name>[^/?]+))?(\?|$)/;
const DESIRED_REPLICAS = 'deployment.kubernetes.io/desired-replicas';

interface BudgetRecord {
  readonly claims: Readonly<Record<string, unknown>>;
  readonly canaries: Readonly<Record<string, { readonly state: string }>>;
}

interface Body {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
}

const NONE: BudgetRecord = { claims: {}, canaries: {} };

interface VerifierParts {
  readonly budget: SimulatedBudget;
  readonly reporter: Reporter;
  readonly admin: KubeClient;
  readonly isCanary: (cluster: string) => boolean;
}

/** Verifies the claims in the ConfigMap of the rollout budget, and each step of a rollout. */
export class RolloutVerifier {
  readonly #o: VerifierParts;
  #record = NONE;
  verified = 0;

  constructor(parts: VerifierParts) {
    this.#o = parts;
  }

  sees(transport: Transport): Transport {
    return async (request) => {
      const answer = await transport(request);
      if (request.method === 'GET' || !BUDGET_PATH.test(request.path) || answer.status >= 300) return answer;
      const text = await answer.text();
      const { metadata } = JSON.parse(text) as Body;
      const stored = metadata?.annotations?.[LeaseAnnotations.FleetRollouts];
      this.#note(stored === undefined ? NONE : (JSON.parse(stored) as BudgetRecord));
      return answerOf(answer.status, text);
    };
  }

  #note(next: BudgetRecord): void {
    const { budget, reporter, isCanary } = this.#o;
    const before = this.#record;
    this.#record = next;
    const names = Object.keys(next.claims);
    reporter.note('state', `these clusters have a claim of the rollout budget: ${names.join(', ') || 'none'}`);
    if (names.length > Math.max(budget.maxClusters, Object.keys(before.claims).length))
      reporter.violate(
        `${names.length} clusters have a claim (${names}), more than the limit of ${budget.maxClusters}`,
      );
    const added = names.filter((name) => before.claims[name] === undefined && !isCanary(name));
    const rolling = [
      ...names.filter(isCanary),
      ...Object.entries(next.canaries).flatMap(([name, { state }]) => (state === 'done' ? [] : [name])),
    ];
    if (added.length > 0 && rolling.length > 0)
      reporter.violate(
        `clusters ${added} get a claim although the rollouts of the canary clusters ${rolling} are not complete`,
      );
  }

  async verify({ identity, proc }: Writer, cluster: string, request: TransportRequest): Promise<void> {
    const path = SETS.exec(request.path);
    if (path === null || (request.method !== 'POST' && request.method !== 'PUT')) return;
    if (request.path.includes('/status') || proc.dead || proc.frozen) return;
    const action = await this.#step(cluster, JSON.parse(String(request.body)) as MachineSet);
    if (action === undefined || proc.dead || proc.frozen) return;
    this.verified += 1;
    if (this.#record.claims[cluster] === undefined)
      this.#o.reporter.violate(`${identity} ${action} of cluster ${cluster} without a claim of the rollout budget`);
  }

  async #step(cluster: string, written: MachineSet): Promise<string | undefined> {
    const { admin } = this.#o;
    const [sets, deployments] = await Promise.all([
      admin.resource<MachineSet>(machineSets, cluster).list(),
      admin.resource<MachineDeployment>(machineDeployments, cluster).list(),
    ]);
    const [deployment] = deployments.items;
    const stored = sets.items.find(({ metadata }) => metadata.name === written.metadata.name);
    const [now = 0, before = 0] = [written.spec.replicas, stored?.spec.replicas];
    if (deployment === undefined || deployment.metadata.deletionTimestamp !== undefined) return undefined;
    const others = sets.items.filter((set) => set !== stored && (set.spec.replicas ?? 0) > 0);
    if (stored === undefined) return now > 0 && others.length > 0 ? 'creates the new MachineSet' : undefined;
    // If the user reduces the replicas, the sets of both templates shrink.
    const scaled = stored.metadata.annotations?.[DESIRED_REPLICAS] !== String(deployment.spec.replicas ?? 0);
    const isOld = stored.spec.template.spec?.class.name !== deployment.spec.template.spec.class.name;
    return now < before && isOld && !scaled ? 'reduces the old MachineSet' : undefined;
  }
}
