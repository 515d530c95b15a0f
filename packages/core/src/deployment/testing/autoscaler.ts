import { Annotations, type Machine, type MachineDeployment, machineDeployments, machines } from '@mcm/api';
import { isConflict, type KubeClient, nodes } from '@mcm/kube';

/**
 * How an autoscaler names machines. Source: gardener/autoscaler, cloudprovider/mcm/mcm_manager.go.
 *
 * - `names`: names without times and the new count in one write of the MachineDeployment.
 * - `times`: the same with `name~time` and the time of the last change, as newer releases write it.
 * - `priority`: priority 1 on each Machine, then the new count, as older releases write it.
 */
export type ScalerForm = 'names' | 'times' | 'priority';

export const SCALER_FORMS: readonly ScalerForm[] = ['names', 'times', 'priority'];

/** What the autoscaler works on. */
export interface ScaledWorld {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly deployment: string;
  readonly now: () => Date;
}

/** Conflicts in a row after which something is wrong. */
const MAX_TRIES = 20;

const stamp = (time: Date): string => `${time.toISOString().slice(0, 19)}Z`;

/** The names of a list of triggers. */
const namesIn = (list: string): readonly string[] =>
  list === '' ? [] : list.split(',').map((entry) => entry.split('~')[0] ?? '');

/** Makes the writes of Gardener's cluster autoscaler, in its order: whole objects, read before, again after a conflict. */
export class Autoscaler {
  readonly #world: ScaledWorld;
  readonly #form: ScalerForm;

  constructor(world: ScaledWorld, form: ScalerForm) {
    this.#world = world;
    this.#form = form;
  }

  /** Names machines and lowers the count by as many; then cordons their nodes. */
  async scaleDown(names: readonly string[]): Promise<void> {
    if (this.#form === 'priority') for (const name of names) await this.prioritise(name);
    await this.#update((deployment) => this.#lowered(deployment, names));
    for (const name of names) await this.#cordon(name);
  }

  async scaleUp(by: number): Promise<void> {
    await this.#update((deployment) => withReplicas(deployment, (deployment.spec.replicas ?? 0) + by));
  }

  /** Gives a machine priority 1. */
  async prioritise(name: string): Promise<void> {
    const resource = this.#world.client.resource<Machine>(machines, this.#world.namespace);
    await untilWritten(async () => {
      const machine = await resource.get(name);
      const annotations = { ...machine.metadata.annotations, [Annotations.Priority]: '1' };
      await resource.update({ ...machine, metadata: { ...machine.metadata, annotations } });
    });
  }

  #lowered(deployment: MachineDeployment, names: readonly string[]): MachineDeployment {
    const replicas = deployment.spec.replicas ?? 0;
    if (this.#form === 'priority') return withReplicas(deployment, replicas - names.length);
    const before = deployment.metadata.annotations?.[Annotations.TriggerDeletion] ?? '';
    const fresh = names.filter((name) => !namesIn(before).includes(name)).sort();
    const time = stamp(this.#world.now());
    const added = this.#form === 'times' ? fresh.map((name) => `${name}~${time}`) : fresh;
    const annotations = {
      ...deployment.metadata.annotations,
      ...(this.#form === 'times' ? { [Annotations.LastReplicaChangeByScaler]: time } : {}),
      [Annotations.TriggerDeletion]: [...(before === '' ? [] : [before]), ...added].join(','),
    };
    return withReplicas({ ...deployment, metadata: { ...deployment.metadata, annotations } }, replicas - fresh.length);
  }

  async #update(change: (deployment: MachineDeployment) => MachineDeployment): Promise<void> {
    const { client, namespace, deployment } = this.#world;
    const resource = client.resource<MachineDeployment>(machineDeployments, namespace);
    await untilWritten(async () => {
      await resource.update(change(await resource.get(deployment)));
    });
  }

  async #cordon(name: string): Promise<void> {
    const resource = this.#world.client.resource(nodes);
    const existing = (await resource.list()).items.some(({ metadata }) => metadata.name === name);
    if (existing) await resource.patch(name, { type: 'merge', body: { spec: { unschedulable: true } } });
  }
}

const withReplicas = (deployment: MachineDeployment, replicas: number): MachineDeployment => ({
  ...deployment,
  spec: { ...deployment.spec, replicas },
});

async function untilWritten(write: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await write();
    } catch (error) {
      if (!isConflict(error) || tries >= MAX_TRIES) throw error;
    }
  }
}
