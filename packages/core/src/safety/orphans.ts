import { Annotations, Finalizers, type Machine, type MachineClass, machines, parseTime } from '@mcm/api';
import {
  again,
  type Change,
  type Clock,
  errorText,
  type Key,
  type KubeClient,
  type Logger,
  type Node,
  nodes,
  type Outcome,
} from '@mcm/kube';
import type { ListedInstance } from '../driver/driver.ts';
import type { DriverInvoker } from '../driver/invoker.ts';
import type { Caches } from '../machine/caches.ts';
import type { MachineDefaults } from '../machine/settings.ts';
import { type NodeChange, patchNode } from '../node/patch.ts';

export interface OrphanOptions {
  /** Between two passes: `--machine-safety-orphan-vms-period`. */
  readonly periodMs: number;
  /** A VM is an orphan only if it was one in an earlier pass at least this long ago, and is at least this old. */
  readonly confirmAfterMs: number;
  /** Most VMs deleted in an hour. */
  readonly maxPerHour: number;
  readonly policy: 'delete' | 'report';
}

const MINUTE = 60_000;

export const ORPHAN_DEFAULTS: OrphanOptions = {
  periodMs: 15 * MINUTE,
  confirmAfterMs: 5 * MINUTE,
  maxPerHour: 30,
  policy: 'delete',
};

/** Passes asked for by events are at least this far apart. */
const MIN_INTERVAL_MS = MINUTE;

/**
 * Whether a VM belongs to no machine. One that is still being created or being deleted looks after its own VM.
 * Source: machine_safety.go, checkMachineClass.
 */
export function isOrphan(vm: ListedInstance, machine: Machine | undefined): boolean {
  if (!machine) return true;
  if (machine.spec.providerID === vm.providerId || machine.metadata.deletionTimestamp) return false;
  const phase = machine.status?.currentStatus?.phase;
  return phase !== undefined && phase !== 'CrashLoopBackOff';
}

/** Which of the suspected VMs are confirmed, and when the first of the others may be. */
export function confirmOrphans(
  suspects: readonly ListedInstance[],
  firstSeen: ReadonlyMap<string, Date>,
  now: Date,
  confirmAfterMs: number,
): { readonly confirmed: readonly ListedInstance[]; readonly nextAt?: Date } {
  const dueAt = (vm: ListedInstance): Date => {
    const seen = firstSeen.get(vm.providerId) ?? now;
    const made = parseTime(vm.createdAt) ?? seen;
    return new Date(Math.max(seen.getTime(), made.getTime()) + confirmAfterMs);
  };
  const confirmed = suspects.filter((vm) => dueAt(vm) <= now);
  const later = suspects.map(dueAt).filter((due) => due > now);
  const nextAt = later.length > 0 ? new Date(Math.min(...later.map((due) => due.getTime()))) : undefined;
  return { confirmed, ...(nextAt ? { nextAt } : {}) };
}

export interface OrphanReconcileOptions {
  readonly caches: Caches;
  readonly invoker: DriverInvoker;
  readonly control: KubeClient;
  readonly target: KubeClient | undefined;
  readonly namespace: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly defaults: MachineDefaults;
  readonly options: OrphanOptions;
}

interface Suspect {
  readonly vm: ListedInstance;
  readonly machineClass: MachineClass;
}

/** Finds VMs and Nodes that nothing stands for. One key, one pass at a time. */
class OrphanCollector {
  readonly key: Key = 'orphans';
  readonly firstAfterMs = MINUTE;
  readonly #o: OrphanReconcileOptions;
  #firstSeen: ReadonlyMap<string, Date> = new Map();
  #deletions: Date[] = [];
  #lastPass: Date | undefined;

  constructor(options: OrphanReconcileOptions) {
    this.#o = options;
  }

  /** Deletions of machines, and clouds that found several VMs for one, are reasons to look. */
  concerns(change: Change<Machine>): boolean {
    if (change.type === 'deleted') return true;
    const ambiguous = (machine: Machine): boolean =>
      machine.status?.lastOperation?.description?.includes('OutOfRange') ?? false;
    return change.type === 'updated' && ambiguous(change.object) && !ambiguous(change.old);
  }

  readonly reconcile = async (): Promise<Outcome> => {
    const { clock, options } = this.#o;
    const now = clock.now();
    const sinceLast = this.#lastPass ? now.getTime() - this.#lastPass.getTime() : MIN_INTERVAL_MS;
    if (sinceLast < MIN_INTERVAL_MS) return again(MIN_INTERVAL_MS - sinceLast);
    this.#lastPass = now;
    const nextAt = await this.#vms(now);
    await this.#nodes(now);
    const untilNext = nextAt ? nextAt.getTime() - clock.now().getTime() : options.periodMs;
    return again(Math.max(Math.min(untilNext, options.periodMs), MIN_INTERVAL_MS));
  };

  async #vms(now: Date): Promise<Date | undefined> {
    const { invoker, options, log } = this.#o;
    if (!invoker.can.list) return undefined;
    const suspects = await this.#suspects();
    const seen = [...suspects.values()].map(
      ({ vm }) => [vm.providerId, this.#firstSeen.get(vm.providerId) ?? now] as const,
    );
    const fresh = seen.filter(([id]) => !this.#firstSeen.has(id)).length;
    this.#firstSeen = new Map(seen);
    if (fresh > 0)
      log.info('VMs without a machine were found; they are looked at again before they are deleted', { count: fresh });
    const vms = [...suspects.values()].map(({ vm }) => vm);
    const { confirmed, nextAt } = confirmOrphans(vms, this.#firstSeen, now, options.confirmAfterMs);
    if (confirmed.length > 0)
      await this.#collect(
        confirmed.flatMap(({ providerId }) => suspects.get(providerId) ?? []),
        now,
      );
    return nextAt;
  }

  /** VMs that no cached machine stands for. A class whose listing fails is left out; the others are not held up. */
  async #suspects(): Promise<Map<string, Suspect>> {
    const { caches, invoker, log, namespace } = this.#o;
    const suspects = new Map<string, Suspect>();
    for (const machineClass of caches.classes.store.list()) {
      try {
        for (const vm of await invoker.list(machineClass)) {
          if (isOrphan(vm, caches.machines.store.get(`${namespace}/${vm.machineName}`))) {
            suspects.set(vm.providerId, { vm, machineClass });
          }
        }
      } catch (error) {
        log.warn('VMs of a class could not be listed', { class: machineClass.metadata.name, error: errorText(error) });
      }
    }
    return suspects;
  }

  /** Deletes what a live list of machines, made after the cloud's, confirms. A cache may lag: a VM cannot be brought back. */
  async #collect(suspects: readonly Suspect[], now: Date): Promise<void> {
    const { control, namespace, options, log } = this.#o;
    const live = await liveMachines(control, namespace);
    this.#deletions = this.#deletions.filter((at) => now.getTime() - at.getTime() < 60 * MINUTE);
    for (const suspect of suspects) {
      const { vm } = suspect;
      if (!isOrphan(vm, live.get(vm.machineName))) continue;
      const fields = { providerId: vm.providerId, machine: vm.machineName };
      if (options.policy === 'report') {
        log.warn('Orphan VM; it is kept, as --orphan-policy=report says', fields);
      } else if (this.#deletions.length >= options.maxPerHour) {
        log.warn('Orphan VM; it has to wait, for enough were deleted within the hour', fields);
      } else {
        this.#deletions.push(now);
        await this.#delete(suspect);
      }
    }
  }

  async #delete({ vm, machineClass }: Suspect): Promise<void> {
    const { invoker, log, clock } = this.#o;
    const fields = { providerId: vm.providerId, machine: vm.machineName };
    try {
      await invoker.delete(standIn(vm, machineClass, clock.now()));
      log.warn('Orphan VM deleted', fields);
    } catch (error) {
      log.warn('Orphan VM could not be deleted; the next pass tries again', { ...fields, error: errorText(error) });
    }
  }

  /** Marks Nodes that belong to no machine, and takes the mark off those that do. */
  async #nodes(now: Date): Promise<void> {
    const { caches, target, defaults, log } = this.#o;
    if (!target || !caches.target) return;
    for (const node of caches.target.nodes.store.list()) {
      const owners = caches.machines.store.byIndex('node', node.metadata.name).length;
      const change = planNodeMark(node, owners, now, defaults.creationTimeoutMs);
      if (!change) continue;
      caches.target.nodes.recordWrite(await patchNode(target.resource(nodes), node, change));
      log.info(owners === 0 ? 'Node belongs to no machine' : 'Node belongs to a machine again', {
        node: node.metadata.name,
      });
    }
  }
}

/** The machine in whose name an orphan's VM is deleted. */
const standIn = (vm: ListedInstance, machineClass: MachineClass, now: Date): Machine => ({
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'Machine',
  metadata: {
    name: vm.machineName,
    ...(machineClass.metadata.namespace === undefined ? {} : { namespace: machineClass.metadata.namespace }),
    uid: `orphan-${vm.providerId}`,
    resourceVersion: '',
    creationTimestamp: now.toISOString(),
  },
  spec: { class: { kind: 'MachineClass', name: machineClass.metadata.name }, providerID: vm.providerId },
});

/** All machines, read from the server itself: the one read whose staleness could cost a VM. */
async function liveMachines(control: KubeClient, namespace: string): Promise<ReadonlyMap<string, Machine>> {
  const found = new Map<string, Machine>();
  let token: string | undefined;
  do {
    const page = await control
      .resource(machines, namespace)
      .list({ limit: 500, ...(token ? { continue: token } : {}) });
    for (const machine of page.items) found.set(machine.metadata.name, machine);
    token = page.metadata.continue || undefined;
  } while (token);
  return found;
}

/**
 * What to do about a Node that has no machine though it is old enough to (finalizer off, annotated), or that has one
 * again (annotation off). Source: machine_safety.go, AnnotateNodesUnmanagedByMCM.
 */
export function planNodeMark(node: Node, owners: number, now: Date, minAgeMs: number): NodeChange | undefined {
  const { annotations, finalizers = [], creationTimestamp } = node.metadata;
  const marked = annotations?.[Annotations.NotManagedByMCM] !== undefined;
  if (owners === 1) return marked ? { metadata: { annotations: { [Annotations.NotManagedByMCM]: null } } } : undefined;
  if (owners > 1) return undefined;
  const age = now.getTime() - (parseTime(creationTimestamp)?.getTime() ?? now.getTime());
  const held = finalizers.includes(Finalizers.Node);
  if (age < minAgeMs || (marked && !held)) return undefined;
  const others = finalizers.filter((finalizer) => finalizer !== Finalizers.Node);
  return {
    metadata: {
      ...(marked ? {} : { annotations: { [Annotations.NotManagedByMCM]: '1' } }),
      ...(held ? { finalizers: others } : {}),
    },
  };
}

export const createOrphanReconcile = (options: OrphanReconcileOptions): OrphanCollector => new OrphanCollector(options);
