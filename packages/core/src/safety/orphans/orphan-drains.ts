import { type MachineClass, parseTime } from '@mcm/api';
import { type Clock, type KubeClient, keyOf, type Logger, type Node } from '@mcm/kube';
import type { Caches, TargetCaches } from '../../cluster/caches.ts';
import { planDrain } from '../../drain/drain.ts';
import { NO_DRAIN_MEMORY } from '../../drain/model/observation.ts';
import { observeDrain } from '../../drain/observe.ts';
import { deletePods, evictPods } from '../../drain/perform.ts';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import type { DriverInvoker } from '../../driver/invoker/api/invoker-api.ts';
import { type Journal, subjectOf } from '../../journal/journal.ts';
import { NodeActions } from '../../machine/calls/node-actions.ts';
import type { MachineMemory } from '../../machine/model/memory.ts';
import type { Doubt } from '../../machine/model/observation.ts';
import { instanceKey, isInstance } from '../../node/instance.ts';
import { drainRulesOf } from '../../settings/drain-rules.ts';
import { type MachineDefaults, settingsOf } from '../../settings/settings.ts';
import { FORCED, undrainablePolicyOf } from '../../settings/undrainable.ts';
import { machineOfOrphanVm } from './orphan-vms.ts';

export interface OrphanDrainsOptions {
  readonly caches: Caches;
  readonly target: KubeClient | undefined;
  readonly invoker: Pick<DriverInvoker, 'volumeIdOf'>;
  readonly defaults: MachineDefaults;
  readonly clock: Clock;
  readonly log: Logger;
  readonly doubt: () => Doubt | undefined;
  readonly journal?: Journal | undefined;
}

/** The progress of a drain, which is stored only in memory. */
interface DrainState extends Pick<MachineMemory, 'drain'> {
  logged?: string;
}

/** The maximum number of drain steps for one Node in one search, such as cordon, evict and verify. */
const LOOKS = 4;

/**
 * Drains the Nodes of VMs without a machine. The condition `Terminating` of the Node contains the time of the cordon,
 * so the drain timeout continues after a restart.
 */
export class OrphanDrains {
  readonly #o: OrphanDrainsOptions;
  readonly #nodes: NodeActions;
  readonly #memories = new Map<string, DrainState>();

  constructor(options: OrphanDrainsOptions) {
    this.#o = options;
    this.#nodes = new NodeActions(options);
  }

  keepOnly(classKey: string, providerIds: ReadonlySet<string>): void {
    for (const key of this.#memories.keys())
      if (key.startsWith(`${classKey} `) && !providerIds.has(key.slice(classKey.length + 1))) {
        this.#memories.delete(key);
        this.#o.caches.drains?.release(key);
      }
  }

  /** @throws KubeError */
  async step(vm: ListedInstance, node: Node, machineClass: MachineClass, signal: AbortSignal): Promise<boolean> {
    const key = `${keyOf(machineClass)} ${vm.providerId}`;
    const state: DrainState = this.#memories.get(key) ?? { drain: NO_DRAIN_MEMORY };
    this.#memories.set(key, state);
    // The next search of the class continues the drain, so no callback is needed when the caches are complete.
    const ready = this.#o.caches.drains?.want(key, () => undefined) ?? true;
    const waitsFor = ready
      ? await this.#step(vm, node, machineClass, state, signal)
      : 'the list of pods is not complete';
    if (waitsFor !== undefined && waitsFor !== state.logged) {
      const fields = { providerId: vm.providerId, node: node.metadata.name, waitsFor };
      this.#o.log.info('Draining the Node of an orphan VM', fields);
      state.logged = waitsFor;
    }
    return waitsFor === undefined;
  }

  /** Executes the steps of a drain, and returns the reason why the drain waits, or undefined if the Node is drained. */
  async #step(
    vm: ListedInstance,
    seen: Node,
    machineClass: MachineClass,
    memory: DrainState,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { clock } = this.#o;
    const { target } = this.#o.caches;
    let waitsFor = 'the Node of the VM is unknown';
    for (let look = 0; look < LOOKS; look++) {
      const now = clock.now();
      const node = target?.nodes.store.get(seen.metadata.name);
      if (!target || node?.metadata.uid !== seen.metadata.uid) return waitsFor;
      if (this.#isAdopted(vm)) return 'a Machine refers to the VM again';
      const cordonedAt = terminatingSince(node);
      if (!node.spec.unschedulable || !cordonedAt) {
        const cordon = { reason: 'ScaleDown', tolerant: false, release: false } as const;
        await this.#nodes.cordon({ o: { node }, memory, now, signal }, { do: 'cordon', ...cordon });
        waitsFor = 'mcm cordons the Node of the VM';
        continue;
      }
      const drain = this.#observe(target, vm, node, machineClass, cordonedAt, memory, now);
      memory.drain = drain.memory;
      const plan = planDrain(drain, now);
      if (plan.drained) return undefined;
      waitsFor = plan.blockers[0]?.text ?? 'pods are terminating';
      const entry = this.#o.journal?.record({
        kind: 'drain',
        subject: subjectOf('Node', node),
        at: now,
        input: drain,
        decision: plan,
        because: waitsFor,
        actions: [...(plan.evict.length > 0 ? ['evict'] : []), ...(plan.remove.length > 0 ? ['deletePods'] : [])],
      });
      if (plan.evict.length + plan.remove.length === 0) return waitsFor;
      const scope = { o: { drain }, memory, now, signal };
      await evictPods(this.#nodes.client, plan.evict, scope);
      await deletePods(this.#nodes.client, plan.remove, scope);
      entry?.ended();
    }
    return waitsFor;
  }

  /**
   * Returns true if a Machine refers to the VM. A user may have created the Machine after the search began. The
   * controller then uncordons the Node of the adopted VM.
   */
  #isAdopted({ providerId }: ListedInstance): boolean {
    const recorders = this.#o.caches.machines.store.byIndex('instance', instanceKey(providerId));
    return recorders.some(({ spec }) => isInstance(spec.providerID, providerId));
  }

  #observe(
    caches: TargetCaches,
    { machineName, providerId }: ListedInstance,
    node: Node,
    machineClass: MachineClass,
    since: Date,
    memory: DrainState,
    now: Date,
  ) {
    const { defaults, invoker } = this.#o;
    const orphan = machineOfOrphanVm({ machineName, providerId, machineClass }, now);
    const machine = { ...orphan, metadata: { ...orphan.metadata, deletionTimestamp: since.toISOString() } };
    return observeDrain({
      machine,
      settings: settingsOf(machine, defaults),
      node,
      caches,
      volumeIdOf: invoker.volumeIdOf,
      memory: memory.drain,
      volumeWindow: 1,
      now,
      healthDoubtedUntil: this.#o.doubt()?.until,
      rules: drainRulesOf(machine, machineClass).rules,
      choice: defaults.undrainablePolicy ? undrainablePolicyOf(machine, machineClass) : FORCED,
    });
  }
}

const terminatingSince = ({ status }: Node): Date | undefined =>
  parseTime(status?.conditions?.find(({ type }) => type === 'Terminating')?.lastTransitionTime ?? undefined);
