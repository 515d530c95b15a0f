import { Annotations } from '../constants/annotations.ts';
import type { Machine, MachineDeployment } from '../index.ts';

/**
 * The forms in which an autoscaler names machines for deletion. Source: gardener/autoscaler,
 * cloudprovider/mcm/mcm_manager.go.
 * - `names`: the autoscaler writes names without times and the new replicas, in one write of the MachineDeployment.
 * - `times`: the autoscaler writes entries `name~time`, the new replicas and the time of the last change in one
 * write.
 * - `priority`: the autoscaler writes priority 1 on each Machine, and then the new replicas, as in older releases.
 */
export type ScalerForm = 'names' | 'times' | 'priority';

/** All forms in which an autoscaler names machines. */
export const SCALER_FORMS: readonly ScalerForm[] = ['names', 'times', 'priority'];

/** The objects that the autoscaler reads and writes in the cluster. */
export interface ScalerPort {
  readonly getDeployment: () => Promise<MachineDeployment>;
  readonly putDeployment: (deployment: MachineDeployment) => Promise<unknown>;
  readonly getMachine: (name: string) => Promise<Machine>;
  readonly putMachine: (machine: Machine) => Promise<unknown>;
  readonly cordon: (machine: string) => Promise<unknown>;
  readonly isConflict: (error: unknown) => boolean;
  readonly now: () => Date;
}

/** The maximum number of attempts: more consecutive conflicts indicate an error in the test. */
const MAX_TRIES = 20;

const stamp = (time: Date): string => `${time.toISOString().slice(0, 19)}Z`;

const namesIn = (list: string): readonly string[] =>
  list === '' ? [] : list.split(',').map((entry) => entry.split('~')[0] ?? '');

/** Sends the same writes as Gardener's cluster autoscaler, in the same order. */
export class Autoscaler {
  readonly #port: ScalerPort;
  readonly #form: ScalerForm;

  constructor(port: ScalerPort, form: ScalerForm) {
    this.#port = port;
    this.#form = form;
  }

  /**
   * Names machines for deletion, reduces the replicas by the number of names, and then cordons the nodes of these
   * machines.
   */
  async scaleDown(names: readonly string[]): Promise<void> {
    if (this.#form === 'priority') for (const name of names) await this.#prioritise(name);
    await this.#update((deployment) =>
      withReplicas(this.#named(deployment, names), -this.#fresh(deployment, names).length),
    );
    for (const name of names) await this.#port.cordon(name);
  }

  /**
   * Names machines for deletion before the write that reduces the replicas. No release of the autoscaler uses this
   * order.
   */
  async nameOnly(names: readonly string[]): Promise<void> {
    if (this.#form === 'priority') for (const name of names) await this.#prioritise(name);
    else await this.#update((deployment) => this.#named(deployment, names));
  }

  async scaleBy(by: number): Promise<void> {
    await this.#update((deployment) => withReplicas(deployment, by));
  }

  async #prioritise(name: string): Promise<void> {
    await this.#untilWritten(async () => {
      const machine = await this.#port.getMachine(name);
      const annotations = { ...machine.metadata.annotations, [Annotations.Priority]: '1' };
      await this.#port.putMachine({ ...machine, metadata: { ...machine.metadata, annotations } });
    });
  }

  /**
   * Returns the names that are not yet in the deployment's list of named machines. An earlier call of `scaleDown` has
   * already reduced the replicas for the listed names.
   */
  #fresh(deployment: MachineDeployment, names: readonly string[]): readonly string[] {
    if (this.#form === 'priority') return names;
    const listed = namesIn(deployment.metadata.annotations?.[Annotations.TriggerDeletion] ?? '');
    return names.filter((name) => !listed.includes(name)).sort();
  }

  #named(deployment: MachineDeployment, names: readonly string[]): MachineDeployment {
    if (this.#form === 'priority') return deployment;
    const before = deployment.metadata.annotations?.[Annotations.TriggerDeletion] ?? '';
    const time = stamp(this.#port.now());
    const fresh = this.#fresh(deployment, names);
    const added = this.#form === 'times' ? fresh.map((name) => `${name}~${time}`) : fresh;
    const annotations = {
      ...deployment.metadata.annotations,
      ...(this.#form === 'times' ? { [Annotations.LastReplicaChangeByScaler]: time } : {}),
      [Annotations.TriggerDeletion]: [...(before === '' ? [] : [before]), ...added].join(','),
    };
    return { ...deployment, metadata: { ...deployment.metadata, annotations } };
  }

  async #update(change: (deployment: MachineDeployment) => MachineDeployment): Promise<void> {
    await this.#untilWritten(async () => {
      await this.#port.putDeployment(change(await this.#port.getDeployment()));
    });
  }

  async #untilWritten(write: () => Promise<void>): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await write();
      } catch (error) {
        if (!this.#port.isConflict(error) || tries >= MAX_TRIES) throw error;
      }
    }
  }
}

const withReplicas = (deployment: MachineDeployment, by: number): MachineDeployment => ({
  ...deployment,
  spec: { ...deployment.spec, replicas: (deployment.spec.replicas ?? 0) + by },
});
