import {
  Annotations,
  formatTime,
  type Machine,
  type MachineDeployment,
  type MachinePhase,
  type MachineSet,
  phaseOf,
} from '@mcm/api';
import { withoutUndefined } from '@mcm/kube';
import { warmMachine } from '../deployment/warm/warm-machines.ts';
import { planWarmPool } from '../deployment/warm/warm-plan.ts';
import { isTerminating } from '../objects/machines.ts';
import { hashOfSet } from '../rollout/template-hash.ts';
import { inOrderOfUse } from '../set/replicas/warm-pool.ts';
import { powerOf, warmSettingOf, warmStateOf } from '../warm/warm-machine.ts';
import type { SimulatedDurations, SimulatedWorld } from './world.ts';

export interface WarmChange {
  readonly action: 'make warm' | 'delete warm';
  readonly name: string;
  readonly because: string;
}

type Pool = Pick<Parameters<typeof planWarmPool>[0], 'deployment' | 'current' | 'old' | 'alive'>;

/** The warm machines of the simulated deployment, which do not count as machines of the deployment. */
export class SimulatedWarmPool {
  readonly #world: SimulatedWorld;
  readonly #durations: SimulatedDurations;
  readonly #machines = new Map<string, Machine>();
  #made = 0;

  constructor(world: SimulatedWorld, machines: readonly Machine[], durations: SimulatedDurations) {
    this.#world = world;
    this.#durations = durations;
    for (const machine of machines) this.#takeOver(machine);
  }

  isActive(deployment: MachineDeployment): boolean {
    return this.#machines.size > 0 || warmSettingOf(deployment) !== undefined;
  }

  #takeOver(machine: Machine): void {
    this.#machines.set(machine.metadata.uid, machine);
    if (isTerminating(machine)) this.#remove(machine);
    else if (powerOf(machine)?.is === 'Stopping') this.#stop(machine);
    else if (phaseOf(machine) !== 'Running' && phaseOf(machine) !== 'Available') this.#join(machine);
    else if (phaseOf(machine) === 'Running') this.#joined(machine);
  }

  /** Removes the next machines for a set from the warm pool, and returns these machines. */
  take(set: MachineSet, count: number): readonly Machine[] {
    const hash = hashOfSet(set);
    const taken = inOrderOfUse([...this.#machines.values()], hash).slice(0, count);
    for (const { metadata } of taken) this.#machines.delete(metadata.uid);
    return taken;
  }

  settle(pool: Pool): readonly WarmChange[] {
    const { create, remove, state, because } = planWarmPool({ ...pool, warm: [...this.#machines.values()] });
    for (const machine of remove) this.#delete(machine);
    const { current, deployment } = pool;
    const names = current ? Array.from({ length: create }, () => `${current.metadata.name}-w<${++this.#made}>`) : [];
    for (const name of names) if (current) this.#create(deployment, current, name, state);
    return [
      ...remove.map(({ metadata: { name } }) => ({ action: 'delete warm', name, because }) as const),
      ...names.map((name) => ({ action: 'make warm', name, because }) as const),
    ];
  }

  #create(
    deployment: MachineDeployment,
    set: MachineSet,
    name: string,
    state: Parameters<typeof warmMachine>[3],
  ): void {
    const draft = warmMachine(deployment, set, name, state);
    const identity = { uid: `simulated-${name}`, creationTimestamp: formatTime(this.#world.now), resourceVersion: '1' };
    const machine = { ...draft, metadata: { ...draft.metadata, ...identity } } as Machine;
    this.#machines.set(machine.metadata.uid, machine);
    this.#join(machine);
  }

  #join(machine: Machine): void {
    this.#world.after(this.#durations.join(machine), () => {
      const joined = this.#machines.get(machine.metadata.uid);
      if (joined && !isTerminating(joined)) this.#joined(this.#put(joined, 'Running'));
    });
  }

  #joined(machine: Machine): void {
    if (warmStateOf(machine) !== 'Running') this.#stop(machine);
  }

  #stop(machine: Machine): void {
    this.#world.after(this.#durations.stop?.(machine) ?? 0, () => {
      const running = this.#machines.get(machine.metadata.uid);
      if (running && !isTerminating(running)) this.#put(running, 'Available', 'Stopped');
    });
  }

  #put(machine: Machine, phase: MachinePhase, power?: 'Stopped'): Machine {
    const annotations = { ...machine.metadata.annotations, ...withoutUndefined({ [Annotations.WarmPower]: power }) };
    const currentStatus = { phase, lastUpdateTime: formatTime(this.#world.now) };
    const status = { ...machine.status, currentStatus };
    const put = { ...machine, metadata: { ...machine.metadata, annotations }, status } as Machine;
    this.#machines.set(machine.metadata.uid, put);
    return put;
  }

  #delete(machine: Machine): void {
    const metadata = { ...machine.metadata, deletionTimestamp: formatTime(this.#world.now) };
    this.#machines.set(machine.metadata.uid, { ...machine, metadata });
    this.#remove(machine);
  }

  #remove(machine: Machine): void {
    this.#world.after(this.#durations.gone(machine), () => this.#machines.delete(machine.metadata.uid));
  }
}
